// What calls of a Thrift service cost between two processes, over each transport: one caller, one call after the other,
// or several threads with a connection each; or what processor time both ends take while nothing is called. The program
// starts its server itself, as a process of its own, and prints one line of JSON:
//   bench_thrift --transport=skein --bytes=64 --threads=1 --duration=1s
//   bench_thrift --transport=skein --idle --duration=3s
// Exit status: 0, 1 failed, 2 called wrongly.
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TNonblockingServer.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TNonblockingServerSocket.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>
#include <unistd.h>

#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/load_figures.h"
#include "bench/processor_time.h"
#include "bench/server_process.h"
#include "bench/thrift/BenchEcho.h"
#include "thrift_transport/tskein_nonblocking_server_socket.h"
#include "thrift_transport/tskein_server_socket.h"
#include "thrift_transport/tskein_socket.h"

ABSL_FLAG(std::string, transport, "skein", "tcp, unix or skein");
ABSL_FLAG(std::string, wait_mode, "hybrid", "of Skein: poll, hybrid or block");
ABSL_FLAG(uint32_t, bytes, 64, "of a request and its reply");
ABSL_FLAG(uint32_t, threads, 1, "callers, each with a connection");
ABSL_FLAG(bool, nonblocking, false, "whether the server is a TNonblockingServer, whose messages are framed");
ABSL_FLAG(bool, idle, false, "whether nothing is called during the measurement, after one call on each connection");
ABSL_FLAG(absl::Duration, duration, absl::Seconds(1), "of the measurement");

namespace skein::bench {
namespace {

using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::server::TNonblockingServer;
using apache::thrift::server::TThreadedServer;
using apache::thrift::transport::TBufferedTransport;
using apache::thrift::transport::TBufferedTransportFactory;
using apache::thrift::transport::TFramedTransport;
using apache::thrift::transport::TNonblockingServerSocket;
using apache::thrift::transport::TServerSocket;
using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportFactory;
using thrift_transport::TSkeinNonblockingServerSocket;
using thrift_transport::TSkeinOptions;
using thrift_transport::TSkeinServerSocket;
using thrift_transport::TSkeinSocket;

bool Over(const char* transport) { return absl::GetFlag(FLAGS_transport) == transport; }

TSkeinOptions SkeinOptions() {
  return TSkeinOptions().set("mode", "require").set("wait_mode", absl::GetFlag(FLAGS_wait_mode));
}

class Handler final : public BenchEchoIf {
 public:
  void Echo(std::string& reply, const std::string& payload) override { reply = payload; }
};

// Sockets of the kernel's are buffered, as their users do; Skein's buffer by themselves.
std::shared_ptr<TServerSocket> ServerSocket(const std::string& path) {
  if (Over("unix")) return std::make_shared<TServerSocket>(path);
  if (Over("tcp")) return std::make_shared<TServerSocket>("127.0.0.1", 0);
  return std::make_shared<TSkeinServerSocket>("127.0.0.1", 0, SkeinOptions());
}

std::shared_ptr<TNonblockingServerSocket> NonblockingServerSocket(const std::string& path) {
  if (Over("unix")) return std::make_shared<TNonblockingServerSocket>(path);
  if (Over("tcp")) return std::make_shared<TNonblockingServerSocket>("127.0.0.1", 0);
  return std::make_shared<TSkeinNonblockingServerSocket>("127.0.0.1", 0, SkeinOptions());
}

std::shared_ptr<TTransport> Connect(const std::string& path, int port) {
  std::shared_ptr<TTransport> socket;
  if (Over("unix")) socket = std::make_shared<TSocket>(path);
  if (Over("tcp")) socket = std::make_shared<TSocket>("127.0.0.1", port);
  if (Over("skein")) socket = std::make_shared<TSkeinSocket>("127.0.0.1", port, SkeinOptions());
  std::shared_ptr<TTransport> transport = socket;
  if (absl::GetFlag(FLAGS_nonblocking)) {
    transport = std::make_shared<TFramedTransport>(socket);
  } else if (!Over("skein")) {
    transport = std::make_shared<TBufferedTransport>(socket);
  }
  transport->open();
  return transport;
}

// Says by `address_fd` when it listens, and on which port.
class TellPort final : public apache::thrift::server::TServerEventHandler {
 public:
  TellPort(std::function<int()> port, int address_fd) : port_(std::move(port)), address_fd_(address_fd) {}
  void preServe() override {
    const std::string port = absl::StrCat(port_());
    if (write(address_fd_, port.data(), port.size()) < 0) throw std::runtime_error("nobody asks for the port");
  }

 private:
  const std::function<int()> port_;
  const int address_fd_;
};

void Serve(const std::string& path, int address_fd) {
  const auto processor = std::make_shared<BenchEchoProcessor>(std::make_shared<Handler>());
  const auto protocols = std::make_shared<apache::thrift::protocol::TBinaryProtocolFactory>();
  if (absl::GetFlag(FLAGS_nonblocking)) {
    const std::shared_ptr<TNonblockingServerSocket> socket = NonblockingServerSocket(path);
    TNonblockingServer server(processor, protocols, socket);
    server.setServerEventHandler(std::make_shared<TellPort>([&] { return socket->getListenPort(); }, address_fd));
    return server.serve();
  }
  const std::shared_ptr<TServerSocket> socket = ServerSocket(path);
  std::shared_ptr<TTransportFactory> layers = std::make_shared<TTransportFactory>();
  if (!Over("skein")) layers = std::make_shared<TBufferedTransportFactory>();
  TThreadedServer server(processor, socket, layers, protocols);
  server.setServerEventHandler(std::make_shared<TellPort>([&] { return socket->getPort(); }, address_fd));
  server.serve();
}

struct Caller {
  std::shared_ptr<TTransport> transport;
  std::unique_ptr<BenchEchoClient> client;
};

// Round trips, one after the other; one at least.
std::vector<absl::Duration> CallUntil(BenchEchoClient& client, absl::Time end) {
  const std::string request(absl::GetFlag(FLAGS_bytes), 'x');
  std::string reply;
  std::vector<absl::Duration> times;
  absl::Time start = absl::Now();
  do {
    client.Echo(reply, request);
    const absl::Time now = absl::Now();
    times.push_back(now - start);
    start = now;
  } while (start < end);
  if (reply != request) throw std::runtime_error("an echo of something else");
  return times;
}

double SecondsOf(pid_t process) {
  const std::optional<double> seconds = ProcessorSeconds(process);
  if (!seconds.has_value()) throw std::runtime_error("no processor time of a process that has ended");
  return *seconds;
}

// Connected, and warm unless it is the idle that are measured.
std::vector<Caller> OpenCallers(const std::string& path, int port) {
  const absl::Duration warm_up = absl::GetFlag(FLAGS_idle) ? absl::ZeroDuration() : absl::GetFlag(FLAGS_duration) / 20;
  std::vector<Caller> callers;
  for (uint32_t i = 0; i < absl::GetFlag(FLAGS_threads); ++i) {
    const std::shared_ptr<TTransport> transport = Connect(path, port);
    callers.push_back({transport, std::make_unique<BenchEchoClient>(std::make_shared<TBinaryProtocol>(transport))});
    CallUntil(*callers.back().client, absl::Now() + warm_up);
  }
  return callers;
}

double SecondsOfBothEnds(pid_t server) { return SecondsOf(getpid()) + SecondsOf(server); }

void MeasureCalls(const std::vector<Caller>& callers, pid_t server) {
  std::vector<std::vector<absl::Duration>> times(callers.size());
  std::vector<std::thread> threads;
  const absl::Time start = absl::Now();
  const double processor = SecondsOfBothEnds(server);
  for (size_t i = 0; i < callers.size(); ++i) {
    threads.emplace_back([&, i] { times[i] = CallUntil(*callers[i].client, start + absl::GetFlag(FLAGS_duration)); });
  }
  for (std::thread& thread : threads) thread.join();
  const absl::Duration elapsed = absl::Now() - start;
  const double used = SecondsOfBothEnds(server) - processor;
  std::vector<absl::Duration> all;
  for (const std::vector<absl::Duration>& some : times) all.insert(all.end(), some.begin(), some.end());
  std::cout << LoadFigures(std::move(all), elapsed, absl::GetFlag(FLAGS_bytes), used) << std::endl;
}

void MeasureIdle(pid_t server) {
  const double server_before = SecondsOf(server);
  const double client_before = SecondsOf(getpid());
  absl::SleepFor(absl::GetFlag(FLAGS_duration));
  std::cout << IdleFigures(SecondsOf(getpid()) - client_before, SecondsOf(server) - server_before,
                           absl::GetFlag(FLAGS_duration))
            << std::endl;
}

void RunClient(const std::string& path, ServerProcess& server) {
  int port = 0;
  if (!absl::SimpleAtoi(server.Address(), &port)) throw std::runtime_error("no server");
  const std::vector<Caller> callers = OpenCallers(path, port);
  absl::GetFlag(FLAGS_idle) ? MeasureIdle(server.pid()) : MeasureCalls(callers, server.pid());
  for (const Caller& caller : callers) caller.transport->close();
}

// What a process makes of itself: its exit status.
template <typename Body>
int StatusOf(Body body) {
  try {
    body();
    return 0;
  } catch (const std::exception& exception) {
    std::cerr << "bench_thrift: " << exception.what() << std::endl;
    return 1;
  }
}

int CalledWrongly(absl::string_view what) {
  std::cerr << "bench_thrift: " << what << std::endl;
  return 2;
}

int Main(const std::vector<char*>& arguments) {
  if (arguments.size() > 1) return CalledWrongly("there are only --flags; --help lists them");
  if (!Over("tcp") && !Over("unix") && !Over("skein")) return CalledWrongly("--transport is tcp, unix or skein");
  const std::string wait_mode = absl::GetFlag(FLAGS_wait_mode);
  if (wait_mode != "poll" && wait_mode != "hybrid" && wait_mode != "block") {
    return CalledWrongly("--wait_mode is poll, hybrid or block");
  }
  if (absl::GetFlag(FLAGS_threads) == 0) return CalledWrongly("--threads is at least 1");
  const std::string path = std::string(1, '\0') + absl::StrCat("bench_thrift.", getpid());  // an abstract socket's
  ServerProcess server([&](int address_fd) { return StatusOf([&] { Serve(path, address_fd); }); });
  return StatusOf([&] { RunClient(path, server); });
}

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("bench_thrift [--transport=skein] [--bytes=64] ...");
  return skein::bench::Main(absl::ParseCommandLine(argc, argv));
}
