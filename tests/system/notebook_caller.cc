// notebook_caller HOST:PORT NAME tcp|skein: calls the notebook without a pause until its input ends, whatever becomes
// of the server, and says what it knows, one write a line, with the time in nanoseconds:
//     persisted NAME-<n> <time>      it is safe: the server has said so
//     reply NAME-<n> <time> <number>
//     done <calls>
// An exception ends it with status 1.
#include <poll.h>
#include <skein/thrift/durable_transport.h>
#include <skein/thrift/socket.h>
#include <thrift/Thrift.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TSocket.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "examples/calculator/address.h"
#include "examples/notebook/Notebook.h"
#include "thrift_transport/thrift_output.h"

namespace {

using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportException;
using skein::thrift_transport::TSkeinDurableTransport;
using skein::thrift_transport::TSkeinPersisted;
using skein::thrift_transport::TSkeinSocket;

constexpr int kNotes = 3;
constexpr int kAppends = 2;

int64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Whole at once, so that a line is there or not when this process is killed.
void Say(const std::string& line) {
  if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(3);
}

bool Goes() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 0) == 0;
}

// The server may be away just now.
void Open(TTransport& transport) {
  for (int attempts = 1000;; --attempts) {
    try {
      return transport.open();
    } catch (const TTransportException&) {
      if (attempts == 0) throw;
      usleep(10'000);  // nothing tells when it is back
    }
  }
}

class Caller {
 public:
  Caller(std::string name, const std::shared_ptr<TSkeinDurableTransport>& transport)
      : name_(std::move(name)),
        transport_(transport),
        client_(std::make_shared<apache::thrift::protocol::TBinaryProtocol>(transport)) {
    transport_->onPersisted([this](const TSkeinPersisted& persisted) {
      if (!persisted.level.empty()) Say(absl::StrCat("persisted ", Text(persisted.call), " ", Now(), "\n"));
    });
  }

  // Oneway calls, then ordinary ones behind each other. Returns when these are answered.
  void Burst() {
    for (int i = 0; i < kNotes; ++i) client_.note(Text(++last_));
    if (last_ % 7 == 0) transport_->waitPersisted();
    const uint64_t before = last_;
    for (int i = 0; i < kAppends; ++i) client_.send_append(Text(++last_));
    for (uint64_t call = before + 1; call <= last_; ++call) {
      const int64_t number = client_.recv_append();
      Say(absl::StrCat("reply ", Text(call), " ", Now(), " ", number, "\n"));
    }
  }
  uint64_t last() const { return last_; }

 private:
  std::string Text(uint64_t call) const { return absl::StrCat(name_, "-", call); }

  const std::string name_;
  const std::shared_ptr<TSkeinDurableTransport> transport_;
  skein::examples::NotebookClient client_;
  uint64_t last_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto [host, port] = skein::examples::ParseAddress(argv[1]);
  skein::thrift_transport::ThriftOutput().setOutputFunction([](const char*) {});  // of each attempt to connect
  const bool skein = std::string(argv[3]) == "skein";
  const auto connect = [host = host, port = port, skein]() -> std::shared_ptr<TTransport> {
    if (skein) return std::make_shared<TSkeinSocket>(host, port);
    return std::make_shared<TSocket>(host, port);
  };
  const auto transport = std::make_shared<TSkeinDurableTransport>(connect);
  try {
    Open(*transport);
    Caller caller(argv[2], transport);
    while (Goes()) caller.Burst();
    Say(absl::StrCat("done ", caller.last(), "\n"));
    transport->close();
  } catch (const apache::thrift::TException& error) {
    std::cerr << argv[2] << ": " << error.what() << std::endl;
    return 1;
  }
  return 0;
}
