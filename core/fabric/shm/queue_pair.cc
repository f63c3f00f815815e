// Connecting, failing, and the socket.
#include "core/fabric/shm/queue_pair.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/base/fallback.h"
#include "core/base/fence.h"

namespace skein::fabric::shm {
namespace {

// The socket carries everything the active side must check; the answer only says that it is there.
constexpr absl::string_view kAnswer = "\x01met";
// Per look at the socket: a peer that never stops sending must not hold the caller.
constexpr int kMaxMessagesPerDrain = 256;
// The first one ends the connection of a peer that is honest.
constexpr int kMaxRefusals = 16;

}  // namespace

ShmQueuePair::ShmQueuePair(std::shared_ptr<DeviceCore> core, const QueuePairOptions& options)
    : core_(std::move(core)),
      send_queue_(static_cast<ShmCompletionQueue*>(options.send_queue)),
      receive_queue_(static_cast<ShmCompletionQueue*>(options.receive_queue)),
      max_send_(options.max_send_requests),
      max_receive_(options.max_receive_requests),
      shared_(static_cast<ShmSharedReceiveQueue*>(options.shared_receive_queue)),
      reads_registered_(options.reads_registered_memory),
      imports_(core_->options) {
  send_queue_->Attach(this);
  if (receive_queue_ != send_queue_) receive_queue_->Attach(this);
}

ShmQueuePair::~ShmQueuePair() {
  Close();
  if (other_user_.has_value()) Closer::Get().CloseSocket(std::move(socket_));
  const bool shares = shared_ != nullptr;
  const uint32_t kept = send_queue_->Detach(this, shares) + receive_queue_->Detach(this, shares);
  if (!shares) return;
  shared_->Reaped(kept);
  shared_->Forget(this);
}

absl::StatusOr<std::string> ShmQueuePair::Offer() {
  MutexLock lock(&error_mu_);
  if (state() != QueuePairState::kReset || offered_.has_value()) {
    return absl::FailedPreconditionError("the queue pair has made its offer, is connected or closed");
  }
  absl::StatusOr<shm::Offer> offer = core_->rendezvous.Announce();
  if (!offer.ok()) return offer.status();
  offered_ = offer->token;
  return EncodeOffer(*offer);
}

absl::StatusOr<std::string> ShmQueuePair::Accept(absl::string_view bytes) {
  const absl::StatusOr<shm::Offer> offer = DecodeOffer(bytes);
  if (!offer.ok()) return offer.status();
  absl::StatusOr<UniqueFd> memfd = CreateSealedMemfd("skein-control", kControlBytes);
  if (!memfd.ok()) return memfd.status();
  absl::StatusOr<Mapping> control = Map(memfd->get(), kControlBytes);
  if (!control.ok()) return control.status();
  absl::StatusOr<Meeting> meeting = Meet(*offer, core_->options.peer_users, core_->directory, *std::move(memfd));
  if (!meeting.ok()) return meeting.status();
  if (absl::Status status = Connect(0, *std::move(control), *std::move(meeting)); !status.ok()) return status;
  return std::string(kAnswer);
}

absl::Status ShmQueuePair::Complete(absl::string_view answer) {
  std::optional<Token> token;
  {
    MutexLock lock(&error_mu_);
    token = std::exchange(offered_, std::nullopt);
  }
  if (!token.has_value()) return absl::FailedPreconditionError("the queue pair has no offer out");
  absl::StatusOr<Meeting> meeting = core_->rendezvous.Collect(*token);
  if (answer != kAnswer) return FallbackError(FallbackCode::kProtocol, "malformed shm answer");
  if (!meeting.ok()) return Noted(meeting.status(), std::nullopt);
  absl::StatusOr<Mapping> control = MapSealed(meeting->control.get(), kControlBytes);
  if (CameOfErrno(control.status())) return Noted(control.status(), meeting->other_user);
  if (!control.ok()) return FallbackError(FallbackCode::kRendezvous, control.status().message());
  meeting->control.Reset();  // a memfd, which nothing delays
  if (absl::Status status = Connect(1, *std::move(control), *std::move(meeting)); !status.ok()) return status;
  // What the passive side has posted already may wait to hear that receives are shared.
  RingIfWaitsForHead();
  return absl::OkStatus();
}

// The kernel would refuse it at the next connection, too.
absl::Status ShmQueuePair::Noted(const absl::Status& error, std::optional<uid_t> other_user) {
  if (CameOfErrno(error)) core_->refusals.Note(error, other_user);
  return error;
}

absl::Status ShmQueuePair::Connect(int side, Mapping control, Meeting meeting) {
  NewDoorbell doorbell;
  if (meeting.other_user.has_value()) {
    if (absl::Status lately = core_->refusals.OfUser(*meeting.other_user); !lately.ok()) return lately;
  } else if (MayHaveDoorbells()) {
    doorbell = CreateDoorbell().value_or(NewDoorbell{});
  }
  absl::Status status = BecomeReady(side, std::move(control), std::move(meeting), doorbell);
  if (!status.ok() || !doorbell.to_pass.valid()) return status;
  SideMessage message;
  message.kind = SideMessageKind::kRingHere;
  Tell(message, doorbell.to_pass.get());
  return absl::OkStatus();
}

absl::Status ShmQueuePair::WatchAtBoth(int fd) {
  absl::Status status = send_queue_->Watch(fd);
  if (!status.ok() || receive_queue_ == send_queue_) return status;
  status = receive_queue_->Watch(fd);
  if (!status.ok()) send_queue_->Forget(fd);
  return status;
}

// Both queues watch the descriptors if it succeeds, and none if it fails: then the caller closes them.
absl::Status ShmQueuePair::BecomeReady(int side, Mapping control, Meeting meeting, NewDoorbell& doorbell) {
  MutexLock receive(&receive_mu_);
  MutexLock send(&send_mu_);
  MutexLock lock(&error_mu_);
  if (state() != QueuePairState::kReset || offered_.has_value()) {
    return absl::FailedPreconditionError("the queue pair has made an offer, is connected or closed");
  }
  if (absl::Status status = WatchAtBoth(meeting.socket.get()); !status.ok()) return status;
  if (doorbell.own.valid() && !WatchAtBoth(doorbell.own.get()).ok()) doorbell = NewDoorbell{};
  control_ = std::move(control);
  auto* shared = reinterpret_cast<Control*>(control_.data());
  mine_ = &shared->sides[side];
  theirs_ = &shared->sides[1 - side];
  socket_ = std::move(meeting.socket);
  doorbell_ = std::move(doorbell.own);
  peer_pid_ = meeting.peer.pid;
  other_user_ = meeting.other_user;
  producer_.emplace(*mine_, *theirs_);
  consumer_.emplace(*mine_, *theirs_);
  if (shared_ != nullptr) mine_->receives.store(kShared, std::memory_order_release);
  state_.store(QueuePairState::kReady, std::memory_order_release);
  return absl::OkStatus();
}

void ShmQueuePair::FailByErrno(const absl::Status& error) {
  core_->refusals.Note(error, other_user_);
  Fail(CompletionStatus::kFatal, error, SideState::kUnable);
}

void ShmQueuePair::Fail(CompletionStatus first_send, absl::Status error, SideState tell) {
  {
    MutexLock lock(&error_mu_);
    if (state() == QueuePairState::kError) return;
    error_ = std::move(error);
    first_send_ = first_send;
    if (offered_.has_value()) core_->rendezvous.Withdraw(*offered_);
    offered_.reset();
    state_.store(QueuePairState::kError, std::memory_order_release);
  }
  if (mine_ != nullptr) {
    mine_->state.store(static_cast<uint32_t>(tell), std::memory_order_release);
    for (const int fd : {socket_.get(), doorbell_.get()}) {
      send_queue_->Forget(fd);
      receive_queue_->Forget(fd);
    }
    shutdown(socket_.get(), SHUT_RDWR);  // wakes the peer; the descriptor itself lives as long as this object
  }
  send_queue_->WakeIfArmed();
  receive_queue_->WakeIfArmed();
}

void ShmQueuePair::FailAfterPeer() {
  const auto theirs = static_cast<SideState>(theirs_->state.load(std::memory_order_acquire));
  switch (theirs) {
    case SideState::kOpen:
      return Fail(CompletionStatus::kRetryExceeded, absl::UnavailableError("the peer process is gone"));
    case SideState::kSendTooLong:
      return Fail(CompletionStatus::kRemoteOperationError,
                  absl::InvalidArgumentError("a SEND was longer than the receive it met"));
    case SideState::kBroken:
      return Fail(CompletionStatus::kFatal, absl::DataLossError("the peer says that this end broke the protocol"));
    case SideState::kUnable:
      return Fail(CompletionStatus::kRetryExceeded,
                  absl::UnavailableError("the peer was refused a descriptor, memory or a system call"));
    case SideState::kClosed:
    default:
      return Fail(CompletionStatus::kRetryExceeded, absl::UnavailableError("the peer closed the connection"));
  }
}

void ShmQueuePair::Flush() {
  FlushReceives();
  FlushSends();
}

absl::Status ShmQueuePair::NotReady() const {
  MutexLock lock(&error_mu_);
  return absl::FailedPreconditionError(absl::StrCat("the queue pair is not ready ", error_.message()));
}

QueuePairState ShmQueuePair::RefreshState() {
  DrainSocket(nullptr, /*all=*/true);
  Progress();
  return state();
}

absl::Status ShmQueuePair::error() const {
  MutexLock lock(&error_mu_);
  return error_;
}

void ShmQueuePair::Close() {
  Fail(CompletionStatus::kFlushed, absl::CancelledError("closed by this end"));
  Flush();
}

void ShmQueuePair::Progress() {
  if (ready()) {
    // Looked at first: what the peer had put into the mailbox before it went is still taken below.
    const bool gone = peer_gone_.load(std::memory_order_acquire) ||
                      theirs_->state.load(std::memory_order_acquire) != static_cast<uint32_t>(SideState::kOpen);
    if (theirs_->socket_messages.load(std::memory_order_acquire) !=
        seen_socket_messages_.load(std::memory_order_relaxed)) {
      DrainSocket(nullptr, /*all=*/true);
    }
    ProgressReceives();
    if (unfinished_sends_.load(std::memory_order_relaxed)) ProgressSends();
    if (gone && ready()) FailAfterPeer();
  }
  if (state() == QueuePairState::kError) Flush();
}

void ShmQueuePair::Arm(const ShmCompletionQueue* queue, WakeFor what) {
  if (!ready()) return;
  const bool quiet = what == WakeFor::kSolicited;
  if (queue == send_queue_ && quiet_.load(std::memory_order_relaxed) != quiet) {
    // Under the lock, so that what was posted without waiting to be told is found unfinished by the next Poll.
    MutexLock lock(&send_mu_);
    quiet_.store(quiet, std::memory_order_relaxed);
  }
  if (queue != receive_queue_) return;
  mine_->armed.store(quiet ? kForSolicited : kForRecords, std::memory_order_relaxed);
  // Pairs with the fence in RingIfArmed: either the peer sees the flag, or the next Poll sees the peer's record.
  FullFence();
}

// The next Arm puts the flag up again, with its fence; until then this end polls.
bool ShmQueuePair::Disarm(const ShmCompletionQueue* queue) {
  return ready() && queue == receive_queue_ && mine_->armed.exchange(kNotArmed, std::memory_order_relaxed) == kNotArmed;
}

void ShmQueuePair::Reaped(uint64_t sequence) {
  if (sequence == 0 && shared_ != nullptr) {
    shared_->Reaped(1);
  } else if (sequence == 0) {
    receives_used_.fetch_sub(1, std::memory_order_relaxed);
  } else {
    last_reaped_.store(sequence, std::memory_order_relaxed);
  }
}

void ShmQueuePair::Ring() {
  if (const int doorbell = rings_at_.load(std::memory_order_acquire); doorbell >= 0) return RingDoorbell(doorbell);
  Tell(SideMessage{});
}

void ShmQueuePair::Tell(const SideMessage& message, int fd) {
  switch (SendMessage(socket_.get(), message.view(), fd)) {
    case SendResult::kSent:
      break;
    case SendResult::kFull:
      // A doorbell may be lost: the socket that it would make readable is readable already. So may a better one.
      if (message.kind == SideMessageKind::kDoorbell || message.kind == SideMessageKind::kRingHere) break;
      Fail(CompletionStatus::kFatal, absl::ResourceExhaustedError("the peer does not read its socket"));
      break;
    case SendResult::kRefused:
      FailByErrno(ErrnoStatus(errno, "send to the peer's UNIX socket"));
      break;
    case SendResult::kGone:
      peer_gone_.store(true, std::memory_order_release);
      send_queue_->WakeIfArmed();
      receive_queue_->WakeIfArmed();
      break;
  }
  if (message.kind != SideMessageKind::kDoorbell) mine_->socket_messages.fetch_add(1, std::memory_order_release);
}

void ShmQueuePair::DrainSocket(ShmCompletionQueue* acknowledger, bool all) {
  MutexLock lock(&socket_mu_);
  if (!ready()) return;
  const uint64_t messages = theirs_->socket_messages.load(std::memory_order_acquire);
  const bool more = seen_socket_messages_.exchange(messages, std::memory_order_relaxed) != messages;
  bool news = doorbell_.valid() && ClearDoorbell(doorbell_.get());
  // The doorbell explains why a sleeper is awake, and peers count what they send by the socket. If the socket has
  // ended, too, the next sleep is over at once.
  const bool explained = news && !more && !all;
  for (int taken = 0; taken < kMaxMessagesPerDrain && ready() && !explained; ++taken) {
    Message message;
    const ReceiveResult result = ReceiveMessage(socket_.get(), message);
    if (result == ReceiveResult::kEmpty) break;
    news = true;
    if (result == ReceiveResult::kRefused)
      return FailByErrno(ErrnoStatus(errno, "receive from the peer's UNIX socket"));
    if (result == ReceiveResult::kGone) {
      peer_gone_.store(true, std::memory_order_release);
      break;
    }
    HandleSideMessage(message);
  }
  if (!news) return;
  if (acknowledger != send_queue_) send_queue_->WakeIfArmed();
  if (acknowledger != receive_queue_) receive_queue_->WakeIfArmed();
}

void ShmQueuePair::HandleSideMessage(Message& message) {
  SideMessage parsed;
  const bool whole = SideMessage::Parse(message.view(), parsed);
  // A doorbell that this process has no descriptor for is one that it can do without.
  const bool is_doorbell = whole && parsed.kind == SideMessageKind::kRingHere;
  if (is_doorbell && !message.truncated && !other_user_.has_value()) return HandleDoorbell(message);
  if (message.lost_descriptor) {
    return FailByErrno(
        absl::ResourceExhaustedError("a descriptor from the peer could not be received; raise the limit on open files "
                                     "(ulimit -n), or let a security policy allow it"));
  }
  if (message.truncated || !whole) {
    return Fail(CompletionStatus::kFatal, absl::DataLossError("malformed message on the peer's socket"),
                SideState::kBroken);
  }
  switch (parsed.kind) {
    case SideMessageKind::kDoorbell:
    case SideMessageKind::kRingHere:  // of another user
      return;
    case SideMessageKind::kWant:
      HandleWant(parsed);
      return;
    case SideMessageKind::kGrant:
    case SideMessageKind::kRefuse:
      return HandleGrant(parsed, message);
  }
  Fail(CompletionStatus::kFatal, absl::DataLossError("unknown message on the peer's socket"), SideState::kBroken);
}

void ShmQueuePair::HandleWant(const SideMessage& want) {
  switch (core_->regions->Grant(want, socket_.get(), refusals_)) {
    case SendResult::kFull:
      Fail(CompletionStatus::kFatal, absl::ResourceExhaustedError("the peer does not read its socket"));
      break;
    case SendResult::kRefused:
      FailByErrno(ErrnoStatus(errno, "pass a descriptor to the peer"));
      break;
    case SendResult::kSent:
    case SendResult::kGone:  // the socket tells
      break;
  }
  if (refusals_ > kMaxRefusals) {
    Fail(CompletionStatus::kFatal, absl::PermissionDeniedError("the peer guesses rkeys"), SideState::kBroken);
  }
  mine_->socket_messages.fetch_add(1, std::memory_order_release);
}

void ShmQueuePair::HandleDoorbell(Message& message) {
  if (message.lost_descriptor) TakeOut(socket_.get());
  const int pipe = message.fd.get();
  if (pipe < 0 || !MayHaveDoorbells()) return;
  absl::StatusOr<UniqueFd> doorbell = OpenDoorbell(pipe);
  if (absl::IsInvalidArgument(doorbell.status()) || peers_doorbell_.valid()) {
    return Fail(CompletionStatus::kFatal, absl::DataLossError("what the peer sent is not its one doorbell"),
                SideState::kBroken);
  }
  if (!doorbell.ok()) return;
  message.fd.Reset();  // a pipe, which nothing delays
  peers_doorbell_ = *std::move(doorbell);
  rings_at_.store(peers_doorbell_.get(), std::memory_order_release);
}

void ShmQueuePair::HandleGrant(const SideMessage& grant, Message& message) {
  MutexLock lock(&send_mu_);
  const bool granted = grant.kind == SideMessageKind::kGrant;
  absl::Status status = granted ? imports_.Add(grant, message.fd.get()) : imports_.Refuse(grant.rkey);
  if (granted && status.ok()) message.fd.Reset();  // a memfd, likewise
  if (CameOfErrno(status)) return FailByErrno(status);
  if (!status.ok()) Fail(CompletionStatus::kFatal, std::move(status), SideState::kBroken);
}

}  // namespace skein::fabric::shm
