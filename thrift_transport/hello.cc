#include "thrift_transport/hello.h"

#include <poll.h>
#include <sys/socket.h>
#include <thrift/transport/TTransportException.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/base/forked.h"
#include "core/connect/frame.h"
#include "core/connect/own_process.h"

namespace skein::thrift_transport {
namespace {

using connect::Beginning;
using connect::Parsed;

constexpr absl::string_view kOpening = "\xA5\r\n";

// Small enough for the buffer of a socket that has been written to once at most.
bool Send(int fd, absl::string_view bytes) {
  return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

// Appends what has come, up to `most` bytes in all. False: the connection has ended.
bool Receive(int fd, size_t most, std::string& bytes) {
  const size_t before = bytes.size();
  bytes.resize(most);
  ssize_t got = 0;
  do {
    got = recv(fd, bytes.data() + before, most - before, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  const bool nothing_yet = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  bytes.resize(before + (got > 0 ? static_cast<size_t>(got) : 0));
  return got > 0 || nothing_yet;
}

bool AwaitReadable(int fd, Deadline deadline) {
  pollfd waits{fd, POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&waits, 1, TimeoutOf(deadline));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

Greeted Plain(Fallback why) {
  Greeted greeted;
  greeted.why = std::move(why);
  greeted.plain = true;
  return greeted;
}

Greeted No(Fallback why, bool goes_on) {
  Greeted greeted;
  greeted.why = std::move(why);
  greeted.goes_on = goes_on;
  return greeted;
}

Greeted Yes(stream::Outcome outcome) {
  Greeted greeted;
  greeted.stream = std::move(outcome.stream);
  greeted.why = std::move(outcome.why);
  return greeted;
}

}  // namespace

void CheckAddress(const Options& options, bool is_path) {
  using apache::thrift::transport::TTransportException;
  if (!is_path || options.mode != Mode::kRequire) return;
  throw TTransportException(TTransportException::BAD_ARGS,
                            "skein.mode is require, and at a UNIX socket's path there is only the socket");
}

Greeted SayHello(int fd, const Options& options, Deadline deadline) {
  Runtime::Waiting& waiting = Runtime::Get().WaitingAs(options);
  const stream::Streams& streams = waiting.streams.For(options);
  const connect::Route route = connect::RouteOf(fd);
  const auto attempt = streams.connector->Begin(route);
  if (!attempt.ok()) return No(FallbackOf(attempt.status()), /*goes_on=*/true);
  if (!Send(fd, absl::StrCat(kOpening, connect::Frame((*attempt)->offer())))) {
    return Plain({FallbackCode::kPeerNotSkein, {}});
  }
  std::string bytes;
  Parsed parsed;
  while (parsed.beginning == Beginning::kUndecided) {
    if (!AwaitReadable(fd, deadline)) return Plain({FallbackCode::kTimeout, {}});
    if (!Receive(fd, connect::kMaxFrameBytes + 1, bytes)) return Plain({FallbackCode::kPeerNotSkein, {}});
    parsed = connect::ParseFrame(bytes, connect::kMaxAnswerBytes);
  }
  if (parsed.beginning == Beginning::kOther) return Plain({FallbackCode::kPeerNotSkein, {}});
  if (parsed.beginning == Beginning::kMalformed || bytes.size() > parsed.size) {
    return No({FallbackCode::kProtocol, "the answer is malformed"}, /*goes_on=*/false);
  }
  stream::Outcome outcome = (*attempt)->Complete(parsed.payload);
  if (outcome.stream == nullptr) return No(std::move(outcome.why), outcome.both_know);
  Greeted greeted = Yes(std::move(outcome));
  if (absl::Status status = waiting.threads.Block(greeted.stream, fd)->AwaitReached(deadline); !status.ok()) {
    // Whoever has died tells nothing of the path.
    const bool tcp_is_well = !connect::HasEnded(fd);
    if (tcp_is_well && options.mode != Mode::kRequire)
      streams.fabrics->Failed(route, connect::FabricKind(greeted.stream->path()));
    return No({FallbackCode::kNoRoute, std::string(status.message())}, /*goes_on=*/false);
  }
  return greeted;
}

First LookAtFirst(int fd) {
  char first = 0;
  const ssize_t got = recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got == 1) return first == kOpening.front() ? First::kHello : First::kOther;
  const bool nothing_yet = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  return nothing_yet ? First::kNothing : First::kEnd;
}

namespace {

// A thread of a forked child's parent may have held the listener's locks.
stream::Listener::Result Judge(absl::string_view offer, int fd, const Options& options) {
  if (InForkedChild()) return stream::Decline(connect::WhyNotForked());
  Runtime::Waiting& waiting = Runtime::Get().WaitingAs(options);
  return waiting.streams.For(options).listener->Accept(offer, connect::RouteOf(fd));
}

}  // namespace

absl::StatusOr<bool> HelloReader::Read(int fd) {
  constexpr size_t kMost = kOpening.size() + connect::kMaxFrameBytes + 1;
  if (!Receive(fd, kMost, bytes_)) return absl::UnavailableError("the client has ended the connection");
  if (!connect::AgreeSoFar(bytes_, kOpening)) {
    parsed_.beginning = Beginning::kMalformed;
  } else if (bytes_.size() > kOpening.size()) {
    parsed_ = connect::ParseFrame(absl::string_view(bytes_).substr(kOpening.size()), connect::kMaxOfferBytes);
  }
  return parsed_.beginning != Beginning::kUndecided;
}

Greeted HelloReader::Answer(int fd, const Options& options) {
  const bool whole = parsed_.beginning == Beginning::kWhole && bytes_.size() == kOpening.size() + parsed_.size;
  if (!whole) return No({FallbackCode::kProtocol, "the hello is malformed"}, /*goes_on=*/false);
  stream::Listener::Result result = Judge(parsed_.payload, fd, options);
  const bool sent = Send(fd, connect::Frame(result.answer));
  if (result.outcome.stream == nullptr) return No(std::move(result.outcome.why), sent);
  if (!sent) return No({FallbackCode::kRendezvous, "the client has ended the connection"}, /*goes_on=*/false);
  return Yes(std::move(result.outcome));
}

}  // namespace skein::thrift_transport
