// A server socket that accepts in a thread of its own, and clients of it.
#ifndef SKEIN_TESTS_UNIT_THRIFT_TRANSPORT_TWO_SOCKETS_H_
#define SKEIN_TESTS_UNIT_THRIFT_TRANSPORT_TWO_SOCKETS_H_

#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/patient_ends.h"

namespace skein::thrift_transport {

using apache::thrift::transport::TServerSocket;
using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportException;

// Serves each connection on a thread. An exception of `serve` ends its connection, as it does in Thrift's servers.
class Accepting {
 public:
  using Serve = std::function<void(const std::shared_ptr<TTransport>&)>;

  Accepting(std::shared_ptr<TServerSocket> socket, Serve serve) : socket_(std::move(socket)), serve_(std::move(serve)) {
    socket_->listen();
    thread_ = std::thread([this] { Run(); });
  }
  ~Accepting() {
    socket_->interrupt();
    socket_->interruptChildren();
    thread_.join();
    for (std::thread& thread : serving_) thread.join();
  }

  int port() const { return socket_->getPort(); }

 private:
  void Run() {
    for (;;) {
      std::shared_ptr<TTransport> connection;
      try {
        connection = socket_->accept();
      } catch (const TTransportException&) {
        return;
      }
      serving_.emplace_back([this, connection] {
        try {
          serve_(connection);
        } catch (const std::exception&) {
        }
        connection->close();
      });
    }
  }

  const std::shared_ptr<TServerSocket> socket_;
  const Serve serve_;
  std::thread thread_;
  std::vector<std::thread> serving_;  // the accepting thread's, until it has ended
};

inline void WriteText(TTransport& transport, const std::string& text) {
  transport.write(reinterpret_cast<const uint8_t*>(text.data()), static_cast<uint32_t>(text.size()));
}

inline std::string ReadText(TTransport& transport, size_t size) {
  std::string text(size, '\0');
  transport.readAll(reinterpret_cast<uint8_t*>(text.data()), static_cast<uint32_t>(size));
  return text;
}

// What `act` throws.
template <class Act>
TTransportException Thrown(Act act) {
  try {
    act();
  } catch (const TTransportException& exception) {
    return exception;
  }
  ADD_FAILURE() << "nothing was thrown";
  return TTransportException();
}

// Everything comes back as it came, until the client closes.
inline void Echo(const std::shared_ptr<TTransport>& connection) {
  uint8_t bytes[4096];
  while (connection->peek()) {
    const uint32_t got = connection->read(bytes, sizeof(bytes));
    connection->write(bytes, got);
    connection->flush();
  }
}

}  // namespace skein::thrift_transport

#endif  // SKEIN_TESTS_UNIT_THRIFT_TRANSPORT_TWO_SOCKETS_H_
