// calculator_client_skein HOST:PORT [--calls N] [--watch]: calls the calculator over Skein where it can. Diff this with
// calculator_client.cc.
#include <skein/thrift/socket.h>

#include <memory>

#include "examples/calculator/address.h"
#include "examples/calculator/calculator_calls.h"
#include "examples/client.h"

int main(int argc, char** argv) {
  const auto [host, port] = skein::examples::ParseAddress(skein::examples::ParseTarget(argc, argv));
  auto socket = std::make_shared<skein::thrift_transport::TSkeinSocket>(host, port);
  return skein::examples::CallCalculator(socket);
}
