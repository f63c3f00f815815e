// calculator_server [HOST:PORT]: the calculator over plain Thrift.
#include <thrift/transport/TServerSocket.h>

#include <memory>

#include "examples/calculator/address.h"
#include "examples/calculator/calculator_service.h"
#include "examples/listen_address.h"

int main(int argc, char** argv) {
  const auto [host, port] = skein::examples::ParseAddress(skein::examples::ParseListenAddress(argc, argv));
  auto socket = std::make_shared<apache::thrift::transport::TServerSocket>(host, port);
  return skein::examples::ServeUntilSignal(socket);
}
