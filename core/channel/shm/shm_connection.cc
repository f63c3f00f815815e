#include "core/channel/shm/shm_connection.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/base/fallback.h"
#include "core/base/sealed_memory.h"
#include "core/channel/shm/handover.h"
#include "core/channel/shm/offer.h"
#include "core/channel/shm/pages.h"
#include "core/channel/shm/shm_group.h"

namespace skein::channel::shm {
namespace {

// The socket carries everything the active side must check; the answer only says that it is there.
constexpr absl::string_view kAnswer = "\x01met";

absl::StatusOr<UniqueFd> CreateMemory(size_t ring_bytes) {
  const size_t first = CanReservePages() ? kFirstBytes : ring_bytes;
  const Range reserved[] = {{0, FifoOffset(0, ring_bytes) + first}, {FifoOffset(1, ring_bytes), first}};
  return CreateSealedMemfd("skein-channel", SharedBytes(ring_bytes), reserved);
}

absl::StatusOr<Mapping> MapOffered(const Channel::Answer& answer, const Meeting& meeting, size_t max_import_bytes) {
  const uint64_t size = answer.ring.size;
  if (size == 0 || size % wire::kRingGranule != 0 || size > wire::kMaxRingBytes) {
    return FallbackError(FallbackCode::kProtocol, absl::StrCat("a shm channel of ", size, " bytes each way"));
  }
  if (SharedBytes(size) > max_import_bytes) {
    return FallbackError(FallbackCode::kResources,
                         absl::StrCat("the peer's channel takes ", SharedBytes(size), " bytes, and of a peer's memory ",
                                      max_import_bytes, " are mapped"));
  }
  absl::StatusOr<Mapping> memory = MapSealed(meeting.memory.get(), SharedBytes(size));
  if (memory.ok() || CameOfErrno(memory.status())) return memory;
  return FallbackError(FallbackCode::kRendezvous, memory.status().message());
}

// Notes a refusal by the kernel, which later connections would meet, too.
absl::Status Noted(Refusals& refusals, const absl::Status& error, std::optional<uid_t> other_user) {
  if (CameOfErrno(error)) refusals.Note(error, other_user);
  return error;
}

}  // namespace

ShmConnection::ShmConnection(ShmGroup& group, std::shared_ptr<TransportCore> core, const ChannelOptions& options)
    : group_(group), core_(std::move(core)), options_(options), peer_memory_(core_->options) {
  group_.Add(this);
}

ShmConnection::~ShmConnection() {
  Close();
  group_.Remove(this);
}

// Connecting ------------------------------------------------------------------------------------------------------

absl::StatusOr<std::string> ShmConnection::Offer() {
  MutexLock lock(&mu_);
  if (ready() || !connected() || offered_.has_value()) {
    return absl::FailedPreconditionError("the channel has made its offer, is connected or closed");
  }
  const absl::StatusOr<shm::Offer> offer = core_->rendezvous.Announce();
  if (!offer.ok()) return offer.status();
  offered_ = offer->token;
  return EncodeOffer(*offer);
}

absl::StatusOr<Channel::Answer> ShmConnection::Accept(absl::string_view bytes) {
  const absl::StatusOr<shm::Offer> offer = shm::DecodeOffer(bytes);
  if (!offer.ok()) return offer.status();
  const size_t ring_bytes = options_.ring_bytes;
  absl::StatusOr<UniqueFd> memfd = CreateMemory(ring_bytes);
  if (!memfd.ok()) return memfd.status();
  absl::StatusOr<Mapping> memory = Map(memfd->get(), SharedBytes(ring_bytes));
  if (!memory.ok()) return memory.status();
  absl::StatusOr<Meeting> meeting = Meet(*offer, core_->options.peer_users, core_->directory, *std::move(memfd));
  if (!meeting.ok()) return meeting.status();
  if (absl::Status status = Connect(0, ring_bytes, *std::move(memory), *std::move(meeting)); !status.ok()) {
    return status;
  }
  Answer answer;
  answer.connection = std::string(kAnswer);
  answer.ring.size = ring_bytes;
  return answer;
}

absl::Status ShmConnection::Complete(const Answer& answer) {
  std::optional<Token> token;
  {
    MutexLock lock(&mu_);
    token = std::exchange(offered_, std::nullopt);
  }
  if (!token.has_value()) return absl::FailedPreconditionError("the channel has no offer out");
  absl::StatusOr<Meeting> meeting = core_->rendezvous.Collect(*token);
  if (answer.connection != kAnswer) return FallbackError(FallbackCode::kProtocol, "malformed shm answer");
  if (!meeting.ok()) return Noted(core_->refusals, meeting.status(), std::nullopt);
  absl::StatusOr<Mapping> memory = MapOffered(answer, *meeting, core_->options.max_import_bytes);
  if (CameOfErrno(memory.status())) return Noted(core_->refusals, memory.status(), meeting->other_user);
  if (!memory.ok()) return memory.status();
  // A passive end that can take pages when it needs them has reserved a few alone.
  if (!CanReservePages() && fallocate(meeting->memory.get(), 0, 0, static_cast<off_t>(memory->size())) != 0) {
    return Noted(core_->refusals, ErrnoStatus(errno, "reserve the memory of a channel (fallocate)"),
                 meeting->other_user);
  }
  meeting->memory.Reset();  // a memfd, which nothing delays
  options_.ring_bytes = answer.ring.size;
  if (absl::Status status = Connect(1, answer.ring.size, *std::move(memory), *std::move(meeting)); !status.ok()) {
    return status;
  }
  met_.store(true, std::memory_order_release);
  return absl::OkStatus();
}

absl::Status ShmConnection::Connect(int own_end, size_t ring_bytes, Mapping memory, Meeting meeting) {
  if (meeting.other_user.has_value()) {
    if (absl::Status lately = core_->refusals.OfUser(*meeting.other_user); !lately.ok()) return lately;
  }
  {
    MutexLock lock(&mu_);
    if (ready() || !connected() || offered_.has_value()) {
      return absl::FailedPreconditionError("the channel has made an offer, is connected or closed");
    }
    if (absl::Status status = group_.Watch(meeting.socket.get()); !status.ok()) return status;
    memory_ = std::move(memory);
    auto* const control = reinterpret_cast<Control*>(memory_.data());
    own_ = &control->ends[own_end];
    peers_ = &control->ends[1 - own_end];
    liveness_.Begin(std::move(meeting), *own_, *peers_, peer_memory_);
    const auto fifo = [&](int end) { return memory_.bytes().subspan(FifoOffset(end, ring_bytes), ring_bytes); };
    writer_.emplace(fifo(own_end), CanReservePages() ? kFirstBytes : ring_bytes, peers_->consumed);
    reader_.emplace(fifo(1 - own_end), peers_->published, own_->consumed);
    ready_.store(true, std::memory_order_release);
  }
  liveness_.PassPipe(group_.wakeup_pipe());
  // A sleeper has not said to this peer that it sleeps: it does before it sleeps on.
  group_.Wake();
  return absl::OkStatus();
}

absl::Status ShmConnection::OnGreeting(absl::string_view greeting) {
  if (!greeting.empty() || !ready() || met()) return absl::DataLossError("a greeting that no peer sends");
  met_.store(true, std::memory_order_release);
  return absl::OkStatus();
}

// Ending ----------------------------------------------------------------------------------------------------------

void ShmConnection::End(Ending ending) {
  {
    MutexLock lock(&mu_);
    if (ending_.has_value()) return;
    if (offered_.has_value()) core_->rendezvous.Withdraw(*offered_);
    offered_.reset();
    ending_ = ending;
    ended_.store(true, std::memory_order_release);
  }
  if (ready()) {
    own_->state.store(static_cast<uint32_t>(ending.tell), std::memory_order_release);
    group_.Forget(liveness_.socket());
    liveness_.ShutDown();  // wakes the peer; the descriptor itself lives as long as this object
  }
  group_.Wake();
}

void ShmConnection::EndIf(std::optional<Ending> ending) {
  if (!ending.has_value()) return;
  if (ending->refused) core_->refusals.Note(ending->why, liveness_.other_user());
  End(*std::move(ending));
}

// Apart from EndIfPeerHas, for polls call that: where nothing ends, they make no stack frame.
void ShmConnection::EndAfterPeer() {
  switch (static_cast<EndState>(peers_->state.load(std::memory_order_acquire))) {
    case EndState::kOpen:
      return End({absl::UnavailableError("the peer process is gone")});
    case EndState::kBroken:
      return End({absl::DataLossError("the peer says that this end broke the protocol")});
    case EndState::kUnable:
      return End({absl::UnavailableError("the peer was refused a descriptor, memory or a system call")});
    case EndState::kClosed:
    default:
      return End({absl::UnavailableError("the peer closed the connection")});
  }
}

void ShmConnection::Close() { End({absl::CancelledError("closed by this end")}); }

bool ShmConnection::peer_broke_protocol() const {
  MutexLock lock(&mu_);
  return ending_.has_value() && ending_->tell == EndState::kBroken;
}

absl::Status ShmConnection::why_ended() const {
  MutexLock lock(&mu_);
  return ending_.has_value() ? ending_->why : absl::UnavailableError("it was closed");
}

bool ShmConnection::Ended() {
  if (!ready() || !connected()) return !connected();
  // The socket first: it may say that the peer is gone.
  if (liveness_.HasNews()) Acknowledge(/*all=*/true);
  EndIfPeerHas();
  return !connected();
}

bool ShmConnection::StillConnected() {
  if (ready() && connected()) liveness_.LookForEnd();
  EndIfPeerHas();
  return connected();
}

void ShmConnection::EndIfPeerHas() {
  if (!ready() || !connected()) return;
  const bool open = peers_->state.load(std::memory_order_acquire) == static_cast<uint32_t>(EndState::kOpen);
  if (!open || liveness_.peer_gone()) EndAfterPeer();
}

// Sleeping --------------------------------------------------------------------------------------------------------

void ShmConnection::GoToSleep() {
  if (ready()) Handover<>::GoToSleep(own_->sleeps);
}

bool ShmConnection::StayAwake() { return !ready() || Handover<>::StayAwake(own_->sleeps); }

void ShmConnection::Acknowledge(bool all) {
  if (ready() && connected() && (all || liveness_.HasNews())) EndIf(liveness_.Empty());
}

}  // namespace skein::channel::shm
