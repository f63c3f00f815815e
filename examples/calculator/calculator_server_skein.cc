// calculator_server_skein [HOST:PORT]: the calculator over Skein where it can. Diff this with calculator_server.cc.
#include <skein/thrift/server_socket.h>

#include <memory>

#include "examples/calculator/address.h"
#include "examples/calculator/calculator_service.h"
#include "examples/listen_address.h"

int main(int argc, char** argv) {
  const auto [host, port] = skein::examples::ParseAddress(skein::examples::ParseListenAddress(argc, argv));
  auto socket = std::make_shared<skein::thrift_transport::TSkeinServerSocket>(host, port);
  return skein::examples::ServeUntilSignal(socket);
}
