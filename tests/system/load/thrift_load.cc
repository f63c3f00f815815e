// The same of Thrift: threads with a connection each, which they open anew now and then.
//   thrift_load --serve=127.0.0.1:0 [--mode=require]
//   thrift_load --targets=ADDRESS,... [--threads=3] [...]
#include <skein/thrift/server_socket.h>
#include <skein/thrift/socket.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/system/load/Load.h"
#include "tests/system/load/callers.h"
#include "tests/system/load/heap.h"
#include "tests/system/load/options.h"
#include "tests/system/load/pattern.h"
#include "tests/system/load/tally.h"
#include "thrift_transport/thrift_output.h"

namespace skein::load {
namespace {

using apache::thrift::TException;
using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::protocol::TBinaryProtocolFactory;
using apache::thrift::server::TThreadedServer;
using apache::thrift::transport::TBufferedTransport;
using apache::thrift::transport::TBufferedTransportFactory;
using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportException;
using thrift_transport::TSkeinOptions;
using thrift_transport::TSkeinServerSocket;
using thrift_transport::TSkeinSocket;

TSkeinOptions Options() { return TSkeinOptions().set("mode", absl::GetFlag(FLAGS_mode)); }

// Of one connection.
class Sums final : public LoadIf {
 public:
  void echo(std::string& reply, const std::string& data) override { reply = data; }
  void note(int32_t number) override { sum_ += number; }
  int64_t noted() override { return std::exchange(sum_, 0); }

 private:
  int64_t sum_ = 0;
};

class Handlers final : public LoadIfFactory {
 public:
  LoadIf* getHandler(const apache::thrift::TConnectionInfo&) override { return new Sums; }
  void releaseHandler(LoadIf* handler) override { delete handler; }
};

std::string StatusName(const TException& error) {
  const auto* const transport = dynamic_cast<const TTransportException*>(&error);
  if (transport == nullptr) return "OTHER";
  switch (transport->getType()) {
    case TTransportException::NOT_OPEN:
      return "NOT_OPEN";
    case TTransportException::TIMED_OUT:
      return "TIMED_OUT";
    case TTransportException::END_OF_FILE:
      return "END_OF_FILE";
    case TTransportException::UNKNOWN:
      return "UNKNOWN";
    default:
      return absl::StrCat("TRANSPORT_", transport->getType());
  }
}

// One connection's calls, one after the other.
class Calls {
 public:
  Calls(const std::shared_ptr<TSkeinSocket>& socket, const std::shared_ptr<TTransport>& transport, Tally& tally,
        absl::BitGen& random)
      : client_(std::make_shared<TBinaryProtocol>(transport)),
        path_(absl::StrCat(socket->getSkeinPath(), socket->getSkeinReason().empty() ? "" : ": ",
                           socket->getSkeinReason())),
        tally_(tally),
        random_(random) {}

  void One() {
    const absl::Duration start = Elapsed();
    const absl::Duration deadline = absl::GetFlag(FLAGS_deadline);
    const Tally::Underway underway(tally_, start + deadline);
    bytes_ = 0;
    if (absl::Bernoulli(random_, 0.1)) {
      Notes();
    } else {
      Echo();
    }
    const absl::Duration took = Elapsed() - start;
    tally_.Ended("OK", "", took, took - deadline, bytes_);
    tally_.Over(path_);
  }

 private:
  void Echo() {
    const std::string said = Pattern(AnySize(random_), ++message_);
    std::string heard;
    client_.echo(heard, said);
    if (heard != said) tally_.Wrong(absl::StrCat("echo of ", said.size(), " bytes"));
    bytes_ += said.size();
  }
  void Notes() {
    int64_t sum = 0;
    for (int left = absl::Uniform(random_, 1, 20); left > 0; --left) {
      const int32_t number = absl::Uniform(random_, 0, 1000);
      client_.note(number);
      sum += number;
    }
    if (client_.noted() != sum) tally_.Wrong("the sum of notes");
  }

  LoadClient client_;
  const std::string path_;
  Tally& tally_;
  absl::BitGen& random_;
  uint32_t message_ = absl::Uniform<uint32_t>(random_);
  uint64_t bytes_ = 0;
};

// A thread's: a connection, and now and then another.
void Run(const std::string& target, Tally& tally, const std::atomic<bool>& ended) {
  const Address address = AddressOf(target);
  const absl::Duration deadline = absl::GetFlag(FLAGS_deadline);
  absl::BitGen random;
  Kept<TTransport> kept;
  const int connections = absl::GetFlag(FLAGS_connections);
  for (int made = 0; !ended && (connections == 0 || made < connections); ++made) {
    absl::Duration start = Elapsed();
    try {
      const auto socket = std::make_shared<TSkeinSocket>(address.host, address.port, Options());
      socket->setConnTimeout(static_cast<int>(absl::ToInt64Milliseconds(deadline)));
      socket->setRecvTimeout(static_cast<int>(absl::ToInt64Milliseconds(deadline)));
      socket->setSendTimeout(static_cast<int>(absl::ToInt64Milliseconds(deadline)));
      const auto transport = std::make_shared<TBufferedTransport>(socket);
      {
        const Tally::Underway underway(tally, start + deadline);
        transport->open();
      }
      Calls calls(socket, transport, tally, random);
      for (int left = absl::GetFlag(FLAGS_calls_each); left > 0 && !ended; --left) {
        start = Elapsed();
        calls.One();
      }
      kept.Add(transport);
    } catch (const TException& error) {
      const absl::Duration took = Elapsed() - start;
      tally.Ended(StatusName(error), error.what(), took, took - deadline, 0);
      absl::SleepFor(absl::Milliseconds(20));  // nothing tells when a server is back
    }
  }
}

// Tells the address once there is one; from then on the server is to end with the standard input.
class Listening final : public apache::thrift::server::TServerEventHandler {
 public:
  Listening(std::string host, std::shared_ptr<TSkeinServerSocket> socket, TThreadedServer& server)
      : host_(std::move(host)), socket_(std::move(socket)), server_(server) {}
  void preServe() override {
    std::cout << "listening on " << host_ << ":" << socket_->getPort() << std::endl;
    stopper_ = std::thread([this] {
      ReportHeapUntilEnd();
      server_.stop();
    });
  }
  void AwaitEnd() { stopper_.join(); }

 private:
  const std::string host_;
  const std::shared_ptr<TSkeinServerSocket> socket_;
  TThreadedServer& server_;
  std::thread stopper_;
};

int Serve() {
  const Address address = AddressOf(absl::GetFlag(FLAGS_serve));
  const auto socket = std::make_shared<TSkeinServerSocket>(address.host, address.port, Options());
  TThreadedServer server(std::make_shared<LoadProcessorFactory>(std::make_shared<Handlers>()), socket,
                         std::make_shared<TBufferedTransportFactory>(), std::make_shared<TBinaryProtocolFactory>());
  const auto listening = std::make_shared<Listening>(address.host, socket, server);
  server.setServerEventHandler(listening);
  server.serve();
  listening->AwaitEnd();
  return 0;
}

}  // namespace
}  // namespace skein::load

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  skein::thrift_transport::ThriftOutput().setOutputFunction([](const char*) {});  // of each attempt to connect
  try {
    return absl::GetFlag(FLAGS_serve).empty() ? skein::load::RunCallers(skein::load::Run) : skein::load::Serve();
  } catch (const apache::thrift::TException& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
