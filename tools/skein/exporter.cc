#include <netdb.h>
#include <poll.h>
#include <prometheus/exposer.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/base/tcp_address.h"
#include "core/base/unique_fd.h"
#include "core/inspect/attachment.h"
#include "tools/skein/host_port.h"
#include "tools/skein/process_metrics.h"
#include "tools/skein/verbs.h"
#include "tools/skein/watched_processes.h"

namespace skein {
namespace {

struct CommandLine {
  HostPort listen = {"127.0.0.1", "7534", "127.0.0.1:7534"};
  std::vector<pid_t> processes;  // none: all
};

// Readable once the process is to end. Blocks the signals: in this thread and those that it starts.
absl::StatusOr<UniqueFd> EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  UniqueFd fd(signalfd(-1, &signals, SFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "wait for signals");
  return fd;
}

// In numbers, if one can listen there. The web server itself, which Debian builds without IPv6, would not say why not.
absl::StatusOr<std::string> AddressToListenOn(const HostPort& address) {
  std::string numeric;
  const absl::StatusOr<UniqueFd> tried =
      OpenFirst(address.host, address.port, AI_PASSIVE, [&](const addrinfo& found) -> absl::StatusOr<UniqueFd> {
        if (found.ai_family != AF_INET) {
          return absl::UnimplementedError(
              absl::StrCat("cannot listen on ", address.text, ": only on addresses of IPv4"));
        }
        UniqueFd fd(socket(found.ai_family, found.ai_socktype | SOCK_CLOEXEC, found.ai_protocol));
        if (!fd.valid()) return ErrnoStatus(errno, "create a socket");
        const int yes = 1;  // as the web server does: connections that are over do not count
        setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        if (bind(fd.get(), found.ai_addr, found.ai_addrlen) != 0 || listen(fd.get(), 1) != 0) {
          return ErrnoStatus(errno, absl::StrCat("listen on ", address.text));
        }
        absl::StatusOr<std::string> name = NumericAddress(found.ai_addr, found.ai_addrlen);
        if (!name.ok()) return name.status();
        numeric = *std::move(name);
        return fd;
      });
  if (!tried.ok()) return tried.status();
  return numeric;
}

absl::StatusOr<std::unique_ptr<prometheus::Exposer>> Expose(const std::string& address) {
  try {
    // Some more threads than there are who scrape: one may be held up by who connects and says nothing.
    return std::make_unique<prometheus::Exposer>(
        std::vector<std::string>{"listening_ports", address, "num_threads", "4", "request_timeout_ms", "10000"});
  } catch (const std::runtime_error& error) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address, ": ", error.what()));
  }
}

// A process that has nothing to say yet may have later; one that must not be asked never will.
absl::Status CheckMayAsk(const std::vector<pid_t>& processes) {
  for (const pid_t process : processes) {
    absl::Status status = inspect::Ask(process, "trace").status();
    if (absl::IsPermissionDenied(status) || absl::IsNotFound(status)) return status;
  }
  return absl::OkStatus();
}

// Until a signal says so, or those that were named have all ended.
void WaitForEnd(int signals, const WatchedProcesses* named) {
  if (named == nullptr) {
    pollfd waited = {signals, POLLIN, 0};
    while (poll(&waited, 1, -1) < 0 && errno == EINTR) {
    }
    return;
  }
  while (!named->WaitForEndOr(signals)) {
    if (named->Living().empty()) {
      std::fputs("skein exporter: the processes have ended\n", stderr);
      return;
    }
  }
}

absl::StatusOr<int> Run(const CommandLine& line) {
  const absl::StatusOr<UniqueFd> signals = EndSignals();
  if (!signals.ok()) return signals.status();
  const absl::StatusOr<WatchedProcesses> named = WatchedProcesses::Open(line.processes);
  if (!named.ok()) return named.status();
  if (absl::Status status = CheckMayAsk(line.processes); !status.ok()) return status;
  const absl::StatusOr<std::string> address = AddressToListenOn(line.listen);
  if (!address.ok()) return address.status();
  const absl::StatusOr<std::unique_ptr<prometheus::Exposer>> exposer = Expose(*address);
  if (!exposer.ok()) return exposer.status();
  const WatchedProcesses* const watched = line.processes.empty() ? nullptr : &*named;
  const auto metrics = std::make_shared<ProcessMetrics>(watched);
  (*exposer)->RegisterCollectable(metrics);
  std::printf("http://%s%d/metrics\n", address->substr(0, address->rfind(':') + 1).c_str(),
              (*exposer)->GetListeningPorts().front());
  std::fflush(stdout);
  WaitForEnd(signals->get(), watched);
  return 0;
}

Setter Listening(HostPort& variable) {
  return [&variable](const std::string& word) {
    absl::StatusOr<HostPort> address = ParseHostPort(word, /*lowest_port=*/0);
    if (!address.ok()) return address.status();
    variable = *std::move(address);
    return absl::OkStatus();
  };
}

}  // namespace

Verb ExporterVerb() {
  const auto line = std::make_shared<CommandLine>();
  return {
      .name = "exporter",
      .summary = "the same of all processes over HTTP, for Prometheus",
      .about =
          "Serves the metrics of running processes to Prometheus, at /metrics: it asks each process when Prometheus "
          "asks; the processes themselves have no port and no thread for it. Without a PID, of all processes of "
          "this user (as root: of all users) in this network namespace that have Skein at that time, until SIGINT or "
          "SIGTERM: one exporter for each network namespace of a host. With PIDs, until these have ended at the "
          "latest.",
      .options = {{"--listen", "ADDRESS:PORT",
                   "where (default 127.0.0.1:7534); port 0: any, it is printed. Anybody who reaches it may read it",
                   Listening(line->listen)}},
      .operand = {Operand::Count::kMany, "PID", "", Processes(line->processes)},
      .examples = {{"skein exporter", "all processes, at http://127.0.0.1:7534/metrics"},
                   {"skein exporter --listen 0.0.0.0:7534 4711", "process 4711, to other hosts, too"}},
      .run = [line] { return Run(*line); }};
}

}  // namespace skein
