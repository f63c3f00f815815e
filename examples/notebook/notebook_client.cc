// notebook_client HOST:PORT LINE...: writes lines into the notebook, and says of each that it is safe before the server
// has written it.
#include <skein/thrift/durable_transport.h>
#include <skein/thrift/socket.h>
#include <thrift/protocol/TBinaryProtocol.h>

#include <iostream>
#include <memory>

#include "examples/calculator/address.h"
#include "examples/notebook/Notebook.h"

using skein::thrift_transport::TSkeinDurableTransport;
using skein::thrift_transport::TSkeinSocket;

int main(int argc, char** argv) {
  const auto [host, port] = skein::examples::ParseAddress(argc > 1 ? argv[1] : "");
  const auto transport = std::make_shared<TSkeinDurableTransport>(
      [host = host, port = port] { return std::make_shared<TSkeinSocket>(host, port); });
  skein::examples::NotebookClient client(std::make_shared<apache::thrift::protocol::TBinaryProtocol>(transport));
  try {
    transport->open();
    for (int i = 2; i < argc; ++i) {
      client.note(argv[i]);
      std::cout << transport->waitPersisted() << ": " << argv[i] << std::endl;
    }
    std::cout << client.lines() << " lines" << std::endl;
  } catch (const apache::thrift::TException& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
  return 0;
}
