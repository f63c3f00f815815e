// calculator_server [HOST:PORT]: the calculator over plain Thrift.
#include <thrift/transport/TServerSocket.h>

#include <memory>

#include "examples/calculator/address.h"
#include "examples/calculator/calculator_service.h"

int main(int argc, char** argv) {
  const auto [host, port] = skein::examples::ParseAddress(argc > 1 ? argv[1] : "127.0.0.1:0");
  auto socket = std::make_shared<apache::thrift::transport::TServerSocket>(host, port);
  return skein::examples::ServeUntilSignal(socket);
}
