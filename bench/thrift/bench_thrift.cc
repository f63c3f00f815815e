// What calls of a Thrift service cost between two processes, over each transport: one caller, one call after the other,
// or several threads with a connection each; or what processor time both ends take while nothing is called. A server
// prints "listening on ADDRESS" and echoes until its standard input ends; a client prints one line of JSON:
//   bench_thrift --skein --listen=127.0.0.1:0
//   bench_thrift --skein --target=127.0.0.1:PORT --bytes=64 --threads=1 --duration=1s
//   bench_thrift --skein --target=127.0.0.1:PORT --server_pid=PROCESS --idle --duration=3s
// Exit status: 0, 1 failed, 2 called wrongly.
#include <skein/thrift/nonblocking_server_socket.h>
#include <skein/thrift/server_socket.h>
#include <skein/thrift/socket.h>
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
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/load_figures.h"
#include "bench/processor_time.h"
#include "bench/thrift/BenchEcho.h"

ABSL_FLAG(std::string, listen, "", "makes it a server: the address, HOST:PORT or unix:PATH; port 0: any");
ABSL_FLAG(std::string, target, "", "makes it a client: the server's address");
ABSL_FLAG(int, server_pid, 0, "whose processor time is told, too; 0: it is not known");
ABSL_FLAG(bool, skein, false, "whether connections are Skein's");
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

// Of a UNIX socket's, `path` is not empty.
struct Address {
  std::string path;
  std::string host;
  int port = 0;
};

std::optional<Address> AddressOf(absl::string_view text) {
  if (absl::ConsumePrefix(&text, "unix:")) return Address{std::string(text), "", 0};
  const size_t colon = text.rfind(':');
  Address address;
  if (colon == absl::string_view::npos || !absl::SimpleAtoi(text.substr(colon + 1), &address.port)) return std::nullopt;
  address.host = std::string(text.substr(0, colon));
  return address;
}

bool Skein() { return absl::GetFlag(FLAGS_skein); }

TSkeinOptions SkeinOptions() {
  return TSkeinOptions().set("mode", "require").set("wait_mode", absl::GetFlag(FLAGS_wait_mode));
}

class Handler final : public BenchEchoIf {
 public:
  void Echo(std::string& reply, const std::string& payload) override { reply = payload; }
};

std::shared_ptr<TServerSocket> ServerSocket(const Address& address) {
  if (!address.path.empty()) return std::make_shared<TServerSocket>(address.path);
  if (!Skein()) return std::make_shared<TServerSocket>(address.host, address.port);
  return std::make_shared<TSkeinServerSocket>(address.host, address.port, SkeinOptions());
}

std::shared_ptr<TNonblockingServerSocket> NonblockingServerSocket(const Address& address) {
  if (!address.path.empty()) return std::make_shared<TNonblockingServerSocket>(address.path);
  if (!Skein()) return std::make_shared<TNonblockingServerSocket>(address.host, address.port);
  return std::make_shared<TSkeinNonblockingServerSocket>(address.host, address.port, SkeinOptions());
}

// Sockets of the kernel's are buffered, as their users do; Skein's buffer by themselves.
std::shared_ptr<TTransport> Buffered(const std::shared_ptr<TTransport>& socket) {
  if (absl::GetFlag(FLAGS_nonblocking)) return std::make_shared<TFramedTransport>(socket);
  if (Skein()) return socket;
  return std::make_shared<TBufferedTransport>(socket);
}

std::shared_ptr<TSocket> Socket(const Address& address) {
  if (!address.path.empty()) return std::make_shared<TSocket>(address.path);
  if (!Skein()) return std::make_shared<TSocket>(address.host, address.port);
  return std::make_shared<TSkeinSocket>(address.host, address.port, SkeinOptions());
}

std::shared_ptr<TTransport> Connect(const Address& address) {
  const std::shared_ptr<TSocket> socket = Socket(address);
  std::shared_ptr<TTransport> transport = Buffered(socket);
  transport->open();
  if (const auto* skein = dynamic_cast<const TSkeinSocket*>(socket.get())) {
    // As gRPC's connections log it.
    std::cerr << "skein: client " << absl::GetFlag(FLAGS_target) << " uses " << skein->getSkeinPath() << std::endl;
  }
  return transport;
}

// Says when the server listens, and on which port.
class TellAddress final : public apache::thrift::server::TServerEventHandler {
 public:
  TellAddress(Address address, std::function<int()> port) : address_(std::move(address)), port_(std::move(port)) {}
  void preServe() override {
    const std::string told =
        address_.path.empty() ? absl::StrCat(address_.host, ":", port_()) : absl::StrCat("unix:", address_.path);
    std::cout << "listening on " << told << std::endl;
  }

 private:
  const Address address_;
  const std::function<int()> port_;
};

// A Thrift server that has connections waits for their clients when it is stopped: the process ends instead.
void EndWithInput() {
  std::thread([] {
    for (std::string line; std::getline(std::cin, line);) {
    }
    _exit(0);
  }).detach();
}

void Serve(const Address& address) {
  EndWithInput();
  // What an earlier server has left.
  if (!address.path.empty()) unlink(address.path.c_str());
  const auto processor = std::make_shared<BenchEchoProcessor>(std::make_shared<Handler>());
  const auto protocols = std::make_shared<apache::thrift::protocol::TBinaryProtocolFactory>();
  if (absl::GetFlag(FLAGS_nonblocking)) {
    const std::shared_ptr<TNonblockingServerSocket> socket = NonblockingServerSocket(address);
    TNonblockingServer server(processor, protocols, socket);
    server.setServerEventHandler(std::make_shared<TellAddress>(address, [&] { return socket->getListenPort(); }));
    return server.serve();
  }
  const std::shared_ptr<TServerSocket> socket = ServerSocket(address);
  std::shared_ptr<TTransportFactory> layers = std::make_shared<TTransportFactory>();
  if (!Skein()) layers = std::make_shared<TBufferedTransportFactory>();
  TThreadedServer server(processor, socket, layers, protocols);
  server.setServerEventHandler(std::make_shared<TellAddress>(address, [&] { return socket->getPort(); }));
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
std::vector<Caller> OpenCallers(const Address& address) {
  const absl::Duration warm_up = absl::GetFlag(FLAGS_idle) ? absl::ZeroDuration() : absl::GetFlag(FLAGS_duration) / 20;
  std::vector<Caller> callers;
  for (uint32_t i = 0; i < absl::GetFlag(FLAGS_threads); ++i) {
    const std::shared_ptr<TTransport> transport = Connect(address);
    callers.push_back({transport, std::make_unique<BenchEchoClient>(std::make_shared<TBinaryProtocol>(transport))});
    CallUntil(*callers.back().client, absl::Now() + warm_up);
  }
  return callers;
}

// Nothing where the server's process is not known.
std::optional<double> SecondsOfBothEnds() {
  const pid_t server = absl::GetFlag(FLAGS_server_pid);
  if (server == 0) return std::nullopt;
  return SecondsOf(getpid()) + SecondsOf(server);
}

void MeasureCalls(const std::vector<Caller>& callers) {
  std::vector<std::vector<absl::Duration>> times(callers.size());
  std::vector<std::thread> threads;
  const absl::Time start = absl::Now();
  const std::optional<double> before = SecondsOfBothEnds();
  for (size_t i = 0; i < callers.size(); ++i) {
    threads.emplace_back([&, i] { times[i] = CallUntil(*callers[i].client, start + absl::GetFlag(FLAGS_duration)); });
  }
  for (std::thread& thread : threads) thread.join();
  const absl::Duration elapsed = absl::Now() - start;
  std::optional<double> used = SecondsOfBothEnds();
  if (used.has_value()) *used -= *before;
  std::vector<absl::Duration> all;
  for (const std::vector<absl::Duration>& some : times) all.insert(all.end(), some.begin(), some.end());
  std::cout << LoadFigures(std::move(all), elapsed, absl::GetFlag(FLAGS_bytes), used) << std::endl;
}

void MeasureIdle() {
  const pid_t server = absl::GetFlag(FLAGS_server_pid);
  const double server_before = SecondsOf(server);
  const double client_before = SecondsOf(getpid());
  absl::SleepFor(absl::GetFlag(FLAGS_duration));
  std::cout << IdleFigures(SecondsOf(getpid()) - client_before, SecondsOf(server) - server_before,
                           absl::GetFlag(FLAGS_duration))
            << std::endl;
}

void Call(const Address& address) {
  const std::vector<Caller> callers = OpenCallers(address);
  absl::GetFlag(FLAGS_idle) ? MeasureIdle() : MeasureCalls(callers);
  for (const Caller& caller : callers) caller.transport->close();
}

int CalledWrongly(absl::string_view what) {
  std::cerr << "bench_thrift: " << what << std::endl;
  return 2;
}

int Main(const std::vector<char*>& arguments) {
  if (arguments.size() > 1) return CalledWrongly("there are only --flags; --help lists them");
  const bool serves = !absl::GetFlag(FLAGS_listen).empty();
  if (serves != absl::GetFlag(FLAGS_target).empty()) return CalledWrongly("it needs one of --listen and --target");
  const std::optional<Address> address = AddressOf(absl::GetFlag(serves ? FLAGS_listen : FLAGS_target));
  if (!address.has_value()) return CalledWrongly("an address is HOST:PORT or unix:PATH");
  if (Skein() && !address->path.empty()) return CalledWrongly("--skein needs HOST:PORT");
  const std::string wait_mode = absl::GetFlag(FLAGS_wait_mode);
  if (wait_mode != "poll" && wait_mode != "hybrid" && wait_mode != "block") {
    return CalledWrongly("--wait_mode is poll, hybrid or block");
  }
  if (absl::GetFlag(FLAGS_threads) == 0) return CalledWrongly("--threads is at least 1");
  if (absl::GetFlag(FLAGS_idle) && absl::GetFlag(FLAGS_server_pid) == 0)
    return CalledWrongly("idle needs --server_pid");
  try {
    serves ? Serve(*address) : Call(*address);
    return 0;
  } catch (const std::exception& exception) {
    std::cerr << "bench_thrift: " << exception.what() << std::endl;
    return 1;
  }
}

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("bench_thrift --listen=ADDRESS or --target=ADDRESS [--skein] ...");
  return skein::bench::Main(absl::ParseCommandLine(argc, argv));
}
