#include "examples/calculator/calculator_calls.h"

#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>

#include <cstdint>
#include <iostream>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "examples/calculator/Calculator.h"
#include "examples/client.h"

namespace skein::examples {
namespace {

using apache::thrift::TException;
using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::transport::TBufferedTransport;
using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransportException;

// Nothing tells when a server is back.
constexpr absl::Duration kBetweenAttempts = absl::Milliseconds(100);

// A client and its connection, which may be lost and made again. Calls return whether the result is right, and throw as
// Thrift's do.
class Caller {
 public:
  Caller(const std::shared_ptr<TSocket>& socket, const std::function<std::string()>& path)
      : socket_(socket),
        path_(path),
        transport_(std::make_shared<TBufferedTransport>(socket)),
        client_(std::make_shared<TBinaryProtocol>(transport_)) {}

  void Connect() {
    transport_->open();
    std::cerr << "client of " << socket_->getHost() << ":" << socket_->getPort() << " uses " << path_() << std::endl;
  }
  void Disconnect() { transport_->close(); }

  bool Add() {
    ++number_;
    return client_.add(number_, 1) == number_ + 1;
  }
  bool Sum() { return client_.sum({1, 2, 3, 4}) == 10; }
  bool Echo(const std::string& payload) {
    client_.echo(result_, payload);
    return result_ == payload;
  }

 private:
  const std::shared_ptr<TSocket> socket_;
  const std::function<std::string()> path_;
  const std::shared_ptr<TBufferedTransport> transport_;
  CalculatorClient client_;
  int64_t number_ = 0;
  std::string result_;
};

int Fail(const std::string& why) {
  std::cerr << why << std::endl;
  return 1;
}

int Measure(Caller& caller) {
  caller.Connect();
  const std::string payload(kEchoBytes, 'x');
  const bool right = caller.Sum() && PrintFigures([&] { return caller.Add(); }, [&] { return caller.Echo(payload); });
  caller.Disconnect();
  return right ? 0 : Fail("a wrong result");
}

// Returns when the connection is lost.
bool CallUntilLost(Caller& caller, absl::Time give_up) {
  try {
    while (caller.Add() && absl::Now() < give_up) {
    }
  } catch (const TTransportException&) {
    return true;
  }
  return false;
}

void Reconnect(Caller& caller, absl::Time give_up) {
  for (;; absl::SleepFor(kBetweenAttempts)) {
    caller.Disconnect();
    try {
      return caller.Connect();
    } catch (const TTransportException&) {
      if (absl::Now() > give_up) throw;
    }
  }
}

int Watch(Caller& caller) {
  caller.Connect();
  if (!caller.Add()) return Fail("a wrong result");
  std::cout << "OK" << std::endl;
  if (!CallUntilLost(caller, absl::Now() + kPatience)) return Fail("a wrong result, or the server was not lost");
  const absl::Time lost = absl::Now();
  std::cout << "TTransportException" << std::endl;
  Reconnect(caller, lost + kPatience);
  if (!caller.Add()) return Fail("a wrong result");
  PrintBack(lost);
  return 0;
}

}  // namespace

int CallCalculator(const std::shared_ptr<TSocket>& socket, const std::function<std::string()>& path) {
  socket->setConnTimeout(5000);
  socket->setRecvTimeout(10000);
  Caller caller(socket, path);
  try {
    return Watching() ? Watch(caller) : Measure(caller);
  } catch (const TException& error) {
    return Fail(error.what());
  }
}

}  // namespace skein::examples
