// What calls of a Thrift service cost between two processes, over each transport: one caller, one call after the other,
// or several threads with a connection each. The program starts its server itself, as a process of its own, and prints
// one line of JSON:
//   bench_thrift --transport=skein --bytes=64 --threads=1 --duration=1s
// Exit status: 0, 1 failed, 2 called wrongly.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/thrift/BenchEcho.h"
#include "thrift_transport/tskein_server_socket.h"
#include "thrift_transport/tskein_socket.h"

ABSL_FLAG(std::string, transport, "skein", "tcp, unix or skein");
ABSL_FLAG(std::string, wait_mode, "hybrid", "of Skein: poll, hybrid or block");
ABSL_FLAG(uint32_t, bytes, 64, "of a request and its reply");
ABSL_FLAG(uint32_t, threads, 1, "callers, each with a connection");
ABSL_FLAG(absl::Duration, duration, absl::Seconds(1), "of the measurement");

// As in bench_rpc.
ABSL_FLAG(bool, check_locks, false, "whether Abseil looks for deadlocks, as it does in Debian unless told otherwise");

namespace skein::bench {
namespace {

using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::server::TThreadedServer;
using apache::thrift::transport::TBufferedTransport;
using apache::thrift::transport::TBufferedTransportFactory;
using apache::thrift::transport::TServerSocket;
using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportFactory;
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

std::shared_ptr<TTransport> Connect(const std::string& path, int port) {
  std::shared_ptr<TTransport> transport;
  if (Over("unix")) transport = std::make_shared<TBufferedTransport>(std::make_shared<TSocket>(path));
  if (Over("tcp")) transport = std::make_shared<TBufferedTransport>(std::make_shared<TSocket>("127.0.0.1", port));
  if (Over("skein")) transport = std::make_shared<TSkeinSocket>("127.0.0.1", port, SkeinOptions());
  transport->open();
  return transport;
}

// Says by `port_fd` when it listens, and on which port.
class TellPort final : public apache::thrift::server::TServerEventHandler {
 public:
  TellPort(std::shared_ptr<TServerSocket> socket, int port_fd) : socket_(std::move(socket)), port_fd_(port_fd) {}
  void preServe() override {
    const int port = socket_->getPort();
    if (write(port_fd_, &port, sizeof(port)) != sizeof(port)) _exit(1);
  }

 private:
  const std::shared_ptr<TServerSocket> socket_;
  const int port_fd_;
};

void Serve(const std::string& path, int port_fd) {
  const std::shared_ptr<TServerSocket> socket = ServerSocket(path);
  std::shared_ptr<TTransportFactory> layers;
  if (Over("skein")) {
    layers = std::make_shared<TTransportFactory>();
  } else {
    layers = std::make_shared<TBufferedTransportFactory>();
  }
  TThreadedServer server(std::make_shared<BenchEchoProcessor>(std::make_shared<Handler>()), socket, layers,
                         std::make_shared<apache::thrift::protocol::TBinaryProtocolFactory>());
  server.setServerEventHandler(std::make_shared<TellPort>(socket, port_fd));
  server.serve();
}

struct Figures {
  std::vector<int64_t> times;  // ns, of round trips
};

Figures CallUntil(BenchEchoClient& client, absl::Time end) {
  const std::string request(absl::GetFlag(FLAGS_bytes), 'x');
  std::string reply;
  Figures figures;
  for (int64_t start = absl::GetCurrentTimeNanos(); start < absl::ToUnixNanos(end);) {
    client.Echo(reply, request);
    const int64_t now = absl::GetCurrentTimeNanos();
    figures.times.push_back(now - start);
    start = now;
  }
  if (reply != request) throw std::runtime_error("an echo of something else");
  return figures;
}

double ProcessorSeconds(int who) {
  rusage usage = {};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + time.tv_usec / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void Print(std::vector<int64_t> times, double seconds, double client_cpu) {
  std::sort(times.begin(), times.end());
  const auto percentile = [&](double part) {
    return static_cast<double>(times[static_cast<size_t>(static_cast<double>(times.size() - 1) * part)]) / 1e3;
  };
  const auto calls = static_cast<double>(times.size());
  std::cout << absl::StrFormat(
                   R"({"p50_us": %.2f, "p99_us": %.2f, "calls_per_s": %.0f, "mb_per_s": %.1f, "client_cpu_us": %.2f})",
                   percentile(0.5), percentile(0.99), calls / seconds,
                   calls * absl::GetFlag(FLAGS_bytes) / seconds / 1e6, client_cpu / calls * 1e6)
            << std::endl;
}

void RunClient(const std::string& path, int port) {
  std::vector<std::shared_ptr<TTransport>> transports;
  std::vector<std::unique_ptr<BenchEchoClient>> clients;
  for (uint32_t i = 0; i < absl::GetFlag(FLAGS_threads); ++i) {
    transports.push_back(Connect(path, port));
    clients.push_back(std::make_unique<BenchEchoClient>(std::make_shared<TBinaryProtocol>(transports.back())));
    CallUntil(*clients.back(), absl::Now() + absl::GetFlag(FLAGS_duration) / 20);
  }
  std::vector<Figures> figures(clients.size());
  std::vector<std::thread> threads;
  const absl::Time start = absl::Now();
  const double cpu = ProcessorSeconds(RUSAGE_SELF);
  for (size_t i = 0; i < clients.size(); ++i) {
    threads.emplace_back([&, i] { figures[i] = CallUntil(*clients[i], start + absl::GetFlag(FLAGS_duration)); });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  const double used = ProcessorSeconds(RUSAGE_SELF) - cpu;
  std::vector<int64_t> all;
  for (const Figures& some : figures) all.insert(all.end(), some.times.begin(), some.times.end());
  Print(std::move(all), seconds, used);
  for (const auto& transport : transports) transport->close();
}

int CalledWrongly(absl::string_view what) {
  std::cerr << "bench_thrift: " << what << std::endl;
  return 2;
}

int Main(const std::vector<char*>& arguments) {
  if (arguments.size() > 1) return CalledWrongly("there are only --flags; --help lists them");
  if (!Over("tcp") && !Over("unix") && !Over("skein")) return CalledWrongly("--transport is tcp, unix or skein");
  if (!absl::GetFlag(FLAGS_check_locks)) absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const std::string path = std::string(1, '\0') + absl::StrCat("bench_thrift.", getpid());  // an abstract socket's
  int port_fds[2];
  if (pipe(port_fds) != 0) return 1;
  const pid_t server = fork();  // before there is a thread
  if (server == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(port_fds[0]);
    Serve(path, port_fds[1]);
    _exit(1);
  }
  close(port_fds[1]);
  int port = 0;
  int result = 1;
  try {
    if (server > 0 && read(port_fds[0], &port, sizeof(port)) == sizeof(port)) {
      RunClient(path, port);
      result = 0;
    }
  } catch (const std::exception& exception) {
    std::cerr << "bench_thrift: " << exception.what() << std::endl;
  }
  if (server > 0) {
    kill(server, SIGKILL);
    waitpid(server, nullptr, 0);
  }
  return result;
}

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("bench_thrift [--transport=skein] [--bytes=64] ...");
  return skein::bench::Main(absl::ParseCommandLine(argc, argv));
}
