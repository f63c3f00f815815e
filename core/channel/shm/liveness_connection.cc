#include "core/channel/shm/liveness_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/closer.h"
#include "core/base/deadline.h"
#include "core/base/errno_status.h"
#include "core/channel/shm/wakeup_pipe.h"

namespace skein::channel::shm {
namespace {

// Per look at the socket: a peer that never stops sending must not hold the caller.
// More than the kernel's own limit on a socket lets lie there (212,992 bytes, each message counting with 768).
constexpr int kMostMessages = 512;
// Operations look so often whether the peer's process lives: a look is a system call.
constexpr std::chrono::nanoseconds kLook = std::chrono::milliseconds(1);

Ending Unable(absl::Status why) { return {std::move(why), EndState::kUnable, /*refused=*/true}; }
Ending Broken(absl::string_view what) { return {absl::DataLossError(what), EndState::kBroken}; }

}  // namespace

LivenessConnection::~LivenessConnection() {
  if (other_user_.has_value()) Closer::Get().CloseSocket(std::move(socket_));
}

void LivenessConnection::Begin(Meeting meeting, End& own, const End& peers, PeerMemory& memory) {
  socket_ = std::move(meeting.socket);
  other_user_ = meeting.other_user;
  own_ = &own;
  peers_ = &peers;
  memory_ = &memory;
}

void LivenessConnection::PassPipe(int pipe) {
  if (pipe < 0 || other_user_.has_value()) return;
  // Opened anew: flags of what both ends have open are the peer's to change as well.
  const absl::StatusOr<UniqueFd> to_pass = OpenWakeupPipe(pipe);
  if (!to_pass.ok()) return;
  SideMessage message;
  message.kind = SideMessageKind::kPassPipe;
  // A refusal is no end: the socket rings.
  Send(message, to_pass->get());
  own_->socket_messages.fetch_add(1, std::memory_order_release);
}

std::optional<Ending> LivenessConnection::Ring() {
  const int pipe = rings_at_.load(std::memory_order_acquire);
  if (pipe >= 0 && WriteWakeup(pipe)) return std::nullopt;
  return Send(SideMessage{}, -1);
}

absl::Status LivenessConnection::Pass(const Region& region) {
  switch (SendMessage(socket_.get(), region.Grant().view(), region.memfd())) {
    case SendResult::kSent:
      own_->socket_messages.fetch_add(1, std::memory_order_release);
      return absl::OkStatus();
    case SendResult::kFull:
    case SendResult::kNoMemory:
      return absl::ResourceExhaustedError(absl::StrCat("the socket to the peer takes no descriptor now (",
                                                       ErrnoStatus(errno, "sendmsg").message(),
                                                       "): the peer does not take what it is passed, or this user has "
                                                       "too many descriptors under way to processes"));
    case SendResult::kRefused:
      return ErrnoStatus(errno, "pass memory to the peer");
    case SendResult::kGone:
      break;
  }
  peer_gone_.store(true, std::memory_order_release);
  return absl::UnavailableError("the peer is gone");
}

std::optional<Ending> LivenessConnection::Send(const SideMessage& message, int fd) {
  switch (SendMessage(socket_.get(), message.view(), fd)) {
    case SendResult::kSent:
    case SendResult::kFull:  // and hence readable: the peer is woken already
      break;
    case SendResult::kNoMemory:
      // The peer sleeps, and this end has taken down the peer's word that it does: nobody would ring again. The end of
      // the connection takes no memory, and wakes the peer.
      return Ending{ErrnoStatus(errno, "send to the peer's UNIX socket"), EndState::kUnable};
    case SendResult::kRefused:
      return Unable(ErrnoStatus(errno, "send to the peer's UNIX socket"));
    case SendResult::kGone:
      peer_gone_.store(true, std::memory_order_release);
      break;
  }
  return std::nullopt;
}

std::optional<Ending> LivenessConnection::Empty() {
  MutexLock lock(&mu_);
  seen_.store(peers_->socket_messages.load(std::memory_order_acquire), std::memory_order_relaxed);
  for (int taken = 0; taken < kMostMessages; ++taken) {
    SocketMessage message;
    switch (ReceiveMessage(socket_.get(), message)) {
      case ReceiveResult::kEmpty:
        return std::nullopt;
      case ReceiveResult::kRefused:
        return Unable(ErrnoStatus(errno, "receive from the peer's UNIX socket"));
      case ReceiveResult::kGone:
        peer_gone_.store(true, std::memory_order_release);
        return std::nullopt;
      case ReceiveResult::kMessage:
        break;
    }
    if (std::optional<Ending> ending = Heed(message)) return ending;
  }
  return std::nullopt;
}

void LivenessConnection::LookForEnd() {
  pollfd end = {socket_.get(), POLLRDHUP, 0};
  if (poll(&end, 1, 0) > 0) peer_gone_.store(true, std::memory_order_release);
}

void LivenessConnection::LookNowAndThen() {
  const std::chrono::nanoseconds now = Clock::now().time_since_epoch();
  if (now.count() - looked_.load(std::memory_order_relaxed) < kLook.count()) return;
  looked_.store(now.count(), std::memory_order_relaxed);
  LookForEnd();
}

std::optional<Ending> LivenessConnection::Heed(SocketMessage& message) {
  SideMessage parsed;
  const bool whole = SideMessage::Parse(message.view(), parsed);
  const bool passes_pipe = whole && parsed.kind == SideMessageKind::kPassPipe;
  if (passes_pipe && std::exchange(pipe_came_, true)) return Broken("what the peer sent is not its one wakeup pipe");
  if (passes_pipe && !message.truncated && !other_user_.has_value()) return TakePipe(message);
  // No honest peer sends one. This end would have to close each descriptor of a flood.
  if (whole && parsed.kind == SideMessageKind::kWakeUp && (message.fd.valid() || message.lost_descriptor)) {
    return Broken("a descriptor with a message that only rings");
  }
  if (message.lost_descriptor) {
    return Unable(
        absl::ResourceExhaustedError("a descriptor from the peer could not be received; raise the limit on open files "
                                     "(ulimit -n), or let a security policy allow it"));
  }
  if (message.truncated || !whole) return Broken("malformed message on the peer's socket");
  if (parsed.kind == SideMessageKind::kGrant) return TakeMemory(parsed, message);
  if (parsed.kind != SideMessageKind::kWakeUp && parsed.kind != SideMessageKind::kPassPipe) {
    return Broken("unknown message on the peer's socket");
  }
  return std::nullopt;
}

// One that this process has no descriptor for is one that it can do without.
std::optional<Ending> LivenessConnection::TakePipe(SocketMessage& message) {
  if (message.lost_descriptor) TakeOut(socket_.get());
  const int pipe = message.fd.get();
  if (pipe < 0 || !MayHaveWakeupPipes()) return std::nullopt;
  absl::StatusOr<UniqueFd> opened = OpenWakeupPipe(pipe);
  if (absl::IsInvalidArgument(opened.status())) return Broken("what the peer sent is not its one wakeup pipe");
  if (!opened.ok()) return std::nullopt;
  message.fd.Reset();  // a pipe, which nothing delays
  peers_pipe_ = *std::move(opened);
  rings_at_.store(peers_pipe_.get(), std::memory_order_release);
  return std::nullopt;
}

std::optional<Ending> LivenessConnection::TakeMemory(const SideMessage& grant, SocketMessage& message) {
  if (!expects_memory_.load(std::memory_order_relaxed)) return Broken("the peer passes memory nobody asked for");
  absl::Status taken = memory_->Add(grant, message.fd.get());
  if (CameOfErrno(taken)) return Unable(std::move(taken));
  // An honest peer with more generous limits may pass so much.
  if (absl::IsResourceExhausted(taken)) return Ending{std::move(taken), EndState::kUnable};
  if (!taken.ok()) return Ending{std::move(taken), EndState::kBroken};
  message.fd.Reset();  // a memfd, which nothing delays
  return std::nullopt;
}

void LivenessConnection::ShutDown() { shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace skein::channel::shm
