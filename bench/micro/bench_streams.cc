// What many streams between two processes cost. Opens them one after the other over shared memory, each by a
// negotiation on a TCP connection of its own that stays, as in the adapters; sends a small message on each, which comes
// back; and prints one line of JSON:
//   bench_streams --streams=10000 --bytes=64
//
// *Bytes per stream* are what each process has become larger by since before its first stream, rings and all, divided
// by the streams; shared pages count in full at either end. Sockets are the kernel's memory, and not in it. What the
// program itself keeps for a stream is.
// Exit status: 0, 1 failed, 2 called wrongly.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "bench/micro/patience.h"
#include "bench/micro/socket.h"
#include "bench/micro/spinning_waiter.h"
#include "core/base/errno_status.h"
#include "core/channel/shm/shm_transport.h"
#include "core/link/link.h"
#include "core/stream/connector.h"

ABSL_FLAG(uint32_t, streams, 10000, "streams between the two processes");
ABSL_FLAG(uint32_t, bytes, 64, "of the message on each");

namespace skein::bench {
namespace {

// One end of all streams.
class End {
 public:
  End() {
    connector_ = stream::CreateConnector(fabrics_, {}, &waiter_);
    listener_ = stream::CreateListener(fabrics_, {}, &waiter_);
  }

  absl::Status Ask(Socket socket) {
    const auto attempt = connector_->Begin(connect::RouteOf(socket.fd()));
    if (!attempt.ok()) return attempt.status();
    if (absl::Status status = socket.SendText((*attempt)->offer()); !status.ok()) return status;
    const absl::StatusOr<std::string> answer = socket.ReceiveText();
    return answer.ok() ? Keep(std::move(socket), (*attempt)->Complete(*answer)) : answer.status();
  }
  absl::Status BeAsked(Socket socket) {
    const absl::StatusOr<std::string> offer = socket.ReceiveText();
    if (!offer.ok()) return offer.status();
    waiter_.Poll();  // the client has attached to the link by then, so that its streams share it
    stream::Listener::Result result = listener_->Accept(*offer, connect::RouteOf(socket.fd()));
    if (absl::Status status = socket.SendText(result.answer); !status.ok()) return status;
    return Keep(std::move(socket), std::move(result.outcome));
  }

  // `bytes` on each stream; then as many of each, which came back.
  absl::Status SayAndHear(size_t bytes) {
    for (size_t i = 0; i < streams_.size(); ++i) {
      if (absl::Status status = Say(i, std::string(bytes, 'x')); !status.ok()) return status;
    }
    return ForEachHeard(bytes, [](size_t, const std::string&) { return absl::OkStatus(); });
  }
  absl::Status Echo(size_t bytes) {
    return ForEachHeard(bytes, [this](size_t i, const std::string& text) { return Say(i, text); });
  }

  // What was said may need this end yet, until the other one says on `socket` that it has heard it.
  void PollUntilReadable(const Socket& socket) {
    pollfd event = {socket.fd(), POLLIN, 0};
    while (poll(&event, 1, 0) == 0) waiter_.Poll();
  }

  size_t links() const { return waiter_.sources().size(); }

 private:
  class Readiness final : public stream::StreamObserver {
   public:
    Readiness(std::vector<size_t>& readable, size_t stream) : readable_(readable), stream_(stream) {}
    void OnReadable() override { readable_.push_back(stream_); }
    void OnWritable() override {}

   private:
    std::vector<size_t>& readable_;
    const size_t stream_;
  };

  absl::Status Keep(Socket socket, stream::Outcome outcome) {
    if (outcome.stream == nullptr) return absl::UnavailableError(absl::StrCat("no stream: ", ToString(outcome.why)));
    outcome.stream->SetObserver(std::make_shared<Readiness>(readable_, streams_.size()));
    readable_.push_back(streams_.size());  // so that it is read once: after that its observer tells
    streams_.push_back(std::move(outcome.stream));
    sockets_.push_back(std::move(socket));
    waiter_.Poll();
    return absl::OkStatus();
  }

  absl::Status Say(size_t stream, absl::string_view text) {
    Patience patience;
    while (!text.empty()) {
      const stream::ConstBytes bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
      const absl::StatusOr<size_t> taken = streams_[stream]->Write({&bytes, 1});
      if (!taken.ok()) return taken.status();
      text.remove_prefix(*taken);
      if (text.empty()) break;
      waiter_.Poll();
      if (absl::Status status = patience.Spin(); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Until `bytes` have come on each stream; `then` is called with what has.
  template <typename Then>
  absl::Status ForEachHeard(size_t bytes, Then then) {
    uint64_t missing = uint64_t{bytes} * streams_.size();
    Patience patience;
    std::vector<stream::Buffer> buffers;
    while (missing > 0) {
      waiter_.Poll();
      for (const size_t stream : std::exchange(readable_, {})) {
        std::string text;
        do {
          buffers.clear();
          if (absl::Status status = streams_[stream]->Read(bytes, buffers); !status.ok()) return status;
          for (const stream::Buffer& each : buffers) {
            text.append(reinterpret_cast<const char*>(each.data.get()), each.size);
          }
        } while (!buffers.empty());
        missing -= std::min<uint64_t>(missing, text.size());
        if (absl::Status status = then(stream, text); !status.ok()) return status;
        patience = {};
      }
      if (absl::Status status = patience.Spin(); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  SpinningWaiter waiter_;  // outlives what it was given to
  const std::shared_ptr<connect::Fabrics> fabrics_ = std::make_shared<connect::OneFabric>(channel::OpenShm());
  std::unique_ptr<stream::Connector> connector_;
  std::unique_ptr<stream::Listener> listener_;
  std::vector<size_t> readable_;
  std::vector<std::shared_ptr<stream::Stream>> streams_;
  std::vector<Socket> sockets_;
};

// What this process has resident, in bytes: all of it, and what of it nobody shares.
struct Memory {
  int64_t resident = 0;
  int64_t own = 0;

  static Memory Now() {
    Memory memory;
    std::ifstream rollup("/proc/self/smaps_rollup");
    for (std::string line; std::getline(rollup, line);) {
      char name[64];
      long long kib = 0;
      if (sscanf(line.c_str(), "%63s %lld kB", name, &kib) != 2) continue;
      if (std::string(name) == "Rss:") memory.resident = kib * 1024;
      if (std::string(name) == "Anonymous:") memory.own = kib * 1024;
    }
    return memory;
  }
  std::string Since(const Memory& before, absl::string_view whose) const {
    const double streams = absl::GetFlag(FLAGS_streams);
    return absl::StrFormat(R"("%s_bytes": %.0f, "%s_own_bytes": %.0f)", whose,
                           static_cast<double>(resident - before.resident) / streams, whose,
                           static_cast<double>(own - before.own) / streams);
  }
};

absl::Status Serve(const Socket& socket) {
  absl::StatusOr<Socket> control = socket.Accept();
  if (!control.ok()) return control.status();
  End end;
  const Memory before = Memory::Now();
  for (uint32_t i = 0; i < absl::GetFlag(FLAGS_streams); ++i) {
    absl::StatusOr<Socket> peer = socket.Accept();
    if (!peer.ok()) return peer.status();
    if (absl::Status status = end.BeAsked(*std::move(peer)); !status.ok()) return status;
  }
  if (absl::Status status = end.Echo(absl::GetFlag(FLAGS_bytes)); !status.ok()) return status;
  end.PollUntilReadable(*control);
  if (absl::Status status = control->ReceiveText().status(); !status.ok()) return status;
  return control->SendText(Memory::Now().Since(before, "server"));
}

absl::StatusOr<std::string> Measure(absl::string_view address) {
  absl::StatusOr<Socket> control = Socket::Connect(address);
  if (!control.ok()) return control.status();
  End end;
  const Memory before = Memory::Now();
  const uint32_t streams = absl::GetFlag(FLAGS_streams);
  const absl::Time start = absl::Now();
  for (uint32_t i = 0; i < streams; ++i) {
    absl::StatusOr<Socket> peer = Socket::Connect(address);
    if (!peer.ok()) return peer.status();
    if (absl::Status status = end.Ask(*std::move(peer)); !status.ok()) return status;
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  if (absl::Status status = end.SayAndHear(absl::GetFlag(FLAGS_bytes)); !status.ok()) return status;
  const Memory after = Memory::Now();
  if (absl::Status status = control->SendText("heard all"); !status.ok()) return status;
  const absl::StatusOr<std::string> server = control->ReceiveText();
  if (!server.ok()) return server.status();
  return absl::StrFormat(R"({"streams": %d, "links": %d, "open_per_s": %.0f, %s, %s})", streams, end.links(),
                         streams / seconds, after.Since(before, "client"), *server);
}

// Each end needs a descriptor for each stream's connection, and some more.
absl::Status AllowDescriptors() {
  const rlim_t needed = absl::GetFlag(FLAGS_streams) + 100;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return ErrnoStatus(errno, "ask for the limit on descriptors");
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return ErrnoStatus(errno, "raise the limit on descriptors");
  if (limit.rlim_max >= needed) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "%d streams need %d descriptors at each end, and this process may have %d: raise the hard limit (ulimit -Hn) or "
      "open fewer (--streams)",
      absl::GetFlag(FLAGS_streams), needed, limit.rlim_max));
}

int Fail(const absl::Status& status) {
  std::cerr << "bench_streams: " << status << std::endl;
  return 1;
}

int Main(const std::vector<char*>& arguments) {
  if (arguments.size() > 1 || absl::GetFlag(FLAGS_streams) == 0 || absl::GetFlag(FLAGS_bytes) == 0) {
    std::cerr << "bench_streams: there are only --flags, both at least 1; --help lists them" << std::endl;
    return 2;
  }
  if (absl::Status status = AllowDescriptors(); !status.ok()) return Fail(status);
  const absl::StatusOr<Socket> socket = Socket::Listen("127.0.0.1:0");
  if (!socket.ok()) return Fail(socket.status());
  const pid_t server = fork();
  if (server == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const absl::Status status = Serve(*socket);
    _exit(status.ok() ? 0 : Fail(status));
  }
  if (server < 0) return Fail(ErrnoStatus(errno, "start the server"));
  const absl::StatusOr<std::string> figures = Measure(socket->address().value_or(""));
  if (!figures.ok()) kill(server, SIGKILL);
  int server_status = 0;
  waitpid(server, &server_status, 0);
  if (!figures.ok()) return Fail(figures.status());
  std::cout << *figures << std::endl;
  return server_status == 0 ? 0 : 1;
}

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("bench_streams [--streams=10000] [--bytes=64]");
  return skein::bench::Main(absl::ParseCommandLine(argc, argv));
}
