// calculator_client HOST:PORT [--calls N] [--watch]: calls the calculator over plain Thrift.
#include <thrift/transport/TSocket.h>

#include <memory>

#include "examples/calculator/address.h"
#include "examples/calculator/calculator_calls.h"
#include "examples/client.h"

int main(int argc, char** argv) {
  const auto [host, port] = skein::examples::ParseAddress(skein::examples::ParseTarget(argc, argv));
  auto socket = std::make_shared<apache::thrift::transport::TSocket>(host, port);
  return skein::examples::CallCalculator(socket);
}
