#include "core/channel/shm/shm_channel.h"

#include <fcntl.h>

#include <algorithm>
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
#include "core/trace/probes.h"

namespace skein::channel::shm {
namespace {

// The socket carries everything the active side must check; the answer only says that it is there.
constexpr absl::string_view kAnswer = "\x01met";
// What data leaves free, for control.
constexpr size_t kReserve = 4096;
// Less is not worth a message: its writer would send crumbs to a reader that frees crumbs.
constexpr size_t kLeastData = 1024;

size_t ReserveOf(Use use) { return use == Use::kData ? kReserve : 0; }

absl::StatusOr<UniqueFd> CreateMemory(size_t ring_bytes) {
  const size_t first = CanReservePages() ? kFirstBytes : ring_bytes;
  const Range reserved[] = {{0, FifoOffset(0, ring_bytes) + first}, {FifoOffset(1, ring_bytes), first}};
  return CreateSealedMemfd("skein-channel", SharedBytes(ring_bytes), reserved);
}

}  // namespace

ShmChannel::ShmChannel(ShmGroup& group, std::shared_ptr<TransportCore> core, const ChannelOptions& options)
    : group_(group),
      core_(std::move(core)),
      options_(options),
      peer_memory_(core_->options),
      passed_memory_(core_->options) {
  group_.Add(this);
}

ShmChannel::~ShmChannel() {
  Close();
  group_.Remove(this);
}

// Connecting ------------------------------------------------------------------------------------------------------

absl::StatusOr<std::string> ShmChannel::Offer() {
  MutexLock lock(&mu_);
  if (ready() || !connected() || offered_.has_value()) {
    return absl::FailedPreconditionError("the channel has made its offer, is connected or closed");
  }
  const absl::StatusOr<shm::Offer> offer = core_->rendezvous.Announce();
  if (!offer.ok()) return offer.status();
  offered_ = offer->token;
  return EncodeOffer(*offer);
}

absl::StatusOr<Channel::Answer> ShmChannel::Accept(absl::string_view bytes) {
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

absl::Status ShmChannel::Complete(const Answer& answer) {
  std::optional<Token> token;
  {
    MutexLock lock(&mu_);
    token = std::exchange(offered_, std::nullopt);
  }
  if (!token.has_value()) return absl::FailedPreconditionError("the channel has no offer out");
  absl::StatusOr<Meeting> meeting = core_->rendezvous.Collect(*token);
  if (answer.connection != kAnswer) return FallbackError(FallbackCode::kProtocol, "malformed shm answer");
  if (!meeting.ok()) return Noted(meeting.status(), std::nullopt);
  absl::StatusOr<Mapping> memory = MapOffered(answer, *meeting);
  if (CameOfErrno(memory.status())) return Noted(memory.status(), meeting->other_user);
  if (!memory.ok()) return memory.status();
  // A passive end that can take pages when it needs them has reserved a few alone.
  if (!CanReservePages() && fallocate(meeting->memory.get(), 0, 0, static_cast<off_t>(memory->size())) != 0) {
    return Noted(ErrnoStatus(errno, "reserve the memory of a channel (fallocate)"), meeting->other_user);
  }
  meeting->memory.Reset();  // a memfd, which nothing delays
  options_.ring_bytes = answer.ring.size;
  if (absl::Status status = Connect(1, answer.ring.size, *std::move(memory), *std::move(meeting)); !status.ok()) {
    return status;
  }
  met_.store(true, std::memory_order_release);
  return absl::OkStatus();
}

absl::StatusOr<Mapping> ShmChannel::MapOffered(const Answer& answer, const Meeting& meeting) const {
  const uint64_t size = answer.ring.size;
  if (size == 0 || size % wire::kRingGranule != 0 || size > wire::kMaxRingBytes) {
    return FallbackError(FallbackCode::kProtocol, absl::StrCat("a shm channel of ", size, " bytes each way"));
  }
  if (SharedBytes(size) > core_->options.max_import_bytes) {
    return FallbackError(FallbackCode::kResources,
                         absl::StrCat("the peer's channel takes ", SharedBytes(size), " bytes, and of a peer's memory ",
                                      core_->options.max_import_bytes, " are mapped"));
  }
  absl::StatusOr<Mapping> memory = MapSealed(meeting.memory.get(), SharedBytes(size));
  if (memory.ok() || CameOfErrno(memory.status())) return memory;
  return FallbackError(FallbackCode::kRendezvous, memory.status().message());
}

// The kernel would refuse it at the next connection, too.
absl::Status ShmChannel::Noted(const absl::Status& error, std::optional<uid_t> other_user) {
  if (CameOfErrno(error)) core_->refusals.Note(error, other_user);
  return error;
}

absl::Status ShmChannel::Connect(int own_end, size_t ring_bytes, Mapping memory, Meeting meeting) {
  if (meeting.other_user.has_value()) {
    if (absl::Status lately = core_->refusals.OfUser(*meeting.other_user); !lately.ok()) return lately;
  }
  if (absl::Status status = Begin(own_end, ring_bytes, std::move(memory), std::move(meeting)); !status.ok()) {
    return status;
  }
  liveness_.PassPipe(group_.wakeup_pipe());
  // A sleeper has not said to this peer that it sleeps: it does before it sleeps on.
  group_.Wake();
  return absl::OkStatus();
}

absl::Status ShmChannel::Begin(int own_end, size_t ring_bytes, Mapping memory, Meeting meeting) {
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
  return absl::OkStatus();
}

absl::Status ShmChannel::OnGreeting(absl::string_view greeting) {
  if (!greeting.empty() || !ready() || met()) return absl::DataLossError("a greeting that no peer sends");
  met_.store(true, std::memory_order_release);
  return absl::OkStatus();
}

// Ending ----------------------------------------------------------------------------------------------------------

void ShmChannel::End(Ending ending) {
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

void ShmChannel::EndIf(std::optional<Ending> ending) {
  if (!ending.has_value()) return;
  if (ending->refused) core_->refusals.Note(ending->why, liveness_.other_user());
  End(*std::move(ending));
}

void ShmChannel::EndAfterPeer() {
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

void ShmChannel::Close() { End({absl::CancelledError("closed by this end")}); }

bool ShmChannel::peer_broke_protocol() const {
  MutexLock lock(&mu_);
  return ending_.has_value() && ending_->tell == EndState::kBroken;
}

absl::Status ShmChannel::why_ended() const {
  MutexLock lock(&mu_);
  return ending_.has_value() ? ending_->why : absl::UnavailableError("it was closed");
}

bool ShmChannel::Ended() {
  if (!ready() || !connected()) return !connected();
  // The socket first: it may say that the peer is gone.
  if (liveness_.HasNews()) Acknowledge(/*all=*/true);
  EndIfPeerHas();
  return !connected();
}

bool ShmChannel::StillConnected() {
  if (ready() && connected()) liveness_.LookForEnd();
  EndIfPeerHas();
  return connected();
}

void ShmChannel::EndIfPeerHas() {
  if (!ready() || !connected()) return;
  const bool open = peers_->state.load(std::memory_order_acquire) == static_cast<uint32_t>(EndState::kOpen);
  if (!open || liveness_.peer_gone()) EndAfterPeer();
}

// Sleeping --------------------------------------------------------------------------------------------------------

void ShmChannel::GoToSleep() {
  if (ready()) Handover<>::GoToSleep(own_->sleeps);
}

bool ShmChannel::StayAwake() { return !ready() || Handover<>::StayAwake(own_->sleeps); }

void ShmChannel::Acknowledge(bool all) {
  if (ready() && connected() && (all || liveness_.HasNews())) EndIf(liveness_.Empty());
}

// Sending ---------------------------------------------------------------------------------------------------------

uint64_t ShmChannel::Consumed() {
  const uint64_t consumed = writer_->Refresh();
  if (writer_->broken()) End({absl::DataLossError("the peer consumed what was not published"), EndState::kBroken});
  return consumed;
}

size_t ShmChannel::SpaceNow(Use use) {
  const size_t space = writer_->Space(ReserveOf(use));
  if (writer_->broken()) Consumed();
  return use == Use::kData && space < kLeastData ? 0 : space;
}

size_t ShmChannel::Space(Use use) {
  if (!met() || !connected()) return 0;
  const size_t space = SpaceNow(use);
  if (space >= wire::ItemBytes(writer_->LargestItemNow())) return space;
  // It may be too little: the peer wakes this end when it has read half of what lies there, for less is not worth it.
  // An earlier wish that has come true stays until Heed: somebody waits for that.
  if (!Handover<>::Reached(own_->wakes_at, peers_->consumed)) {
    const uint64_t unread = writer_->position() - writer_->consumed();
    Handover<>::WakeAt(own_->wakes_at, writer_->consumed() + unread / (2 * kUnit) * kUnit);
  }
  return SpaceNow(use);
}

bool ShmChannel::Fits(size_t bytes, Use use) { return met() && connected() && writer_->Fits(bytes, ReserveOf(use)); }

absl::Status ShmChannel::Heed() {
  if (met() && Handover<>::Reached(own_->wakes_at, peers_->consumed)) Handover<>::NeedNotWake(own_->wakes_at);
  return absl::OkStatus();
}

absl::Status ShmChannel::Lay(absl::Span<OutItem> items, Use use) {
  if (!met()) return absl::FailedPreconditionError("the channel has not met its peer");
  if (!connected()) return why_ended();
  absl::Status status = writer_->Lay(items, ReserveOf(use));
  if (status.ok()) return status;
  if (writer_->broken()) Consumed();  // ends the channel: no peer tells of space any more
  if (writer_->refused()) {
    // Perhaps just now, and Space had counted on it: there is less space now, and no peer will tell.
    Handover<>::WakeAt(own_->wakes_at, writer_->consumed());
    group_.Wake();
  }
  return status;
}

absl::Status ShmChannel::Publish(uint64_t stage_time) {
  if (!connected()) return why_ended();
  const uint64_t position = writer_->Commit(stage_time);
  if (Handover<>::Publish(own_->published, position, peers_->sleeps)) EndIf(liveness_.Ring());
  return absl::OkStatus();
}

// The peer's memory -----------------------------------------------------------------------------------------------

absl::StatusOr<fabric::CompletionStatus> ShmChannel::Execute(const fabric::SendRequest& operation) {
  if (!ready() || !connected()) return fabric::CompletionStatus::kFlushed;
  liveness_.LookNowAndThen();
  EndIfPeerHas();
  if (!connected()) return fabric::CompletionStatus::kFlushed;
  const PeerRegion* region = peer_memory_.Find(operation.remote.rkey);
  if (region == nullptr) {
    // The peer has passed it before it told its key: it is in the socket, with what the sleeper waits for.
    Acknowledge(/*all=*/true);
    group_.Wake();
    if (!connected()) return fabric::CompletionStatus::kFlushed;
    region = peer_memory_.Find(operation.remote.rkey);
  }
  absl::Status done = shm::Execute(operation, region);
  if (done.ok()) return fabric::CompletionStatus::kSuccess;
  if (!absl::IsPermissionDenied(done)) return done;
  End({std::move(done)});  // as a queue pair ends by it
  return fabric::CompletionStatus::kRemoteAccessError;
}

absl::Status ShmChannel::Pass(const fabric::MemoryRegion& region) {
  const auto* const ours = dynamic_cast<const Region*>(&region);
  if (ours == nullptr) return absl::FailedPreconditionError("memory that shared memory cannot pass");
  if (ours->memfd() < 0) return absl::OkStatus();
  if (!ready() || !connected()) return absl::UnavailableError("the connection has ended");
  return passed_memory_.Pass(*ours, liveness_);
}

// Receiving -------------------------------------------------------------------------------------------------------

absl::StatusOr<std::optional<InMessage>> ShmChannel::Next() {
  if (!ready()) return std::nullopt;
  if (absl::Status status = reader_->Look(); !status.ok()) {
    End({status, EndState::kBroken});
    return status;
  }
  return reader_->next();
}

void ShmChannel::Pop() {
  const size_t bytes = reader_->Pop();
  trace::probes::Received(this, bytes);
  bytes_read_.store(reader_->position(), std::memory_order_relaxed);
  messages_read_.store(messages_read() + 1, std::memory_order_relaxed);
}

// What was read says nothing of the channel.
bool ShmChannel::AfterReading() {
  if (!ready() || !connected()) return false;
  if (Handover<>::Consumed(reader_->position(), peers_->wakes_at, peers_->sleeps)) EndIf(liveness_.Ring());
  return false;
}

bool ShmChannel::MoreSpace() { return met() && Handover<>::Reached(own_->wakes_at, peers_->consumed); }

}  // namespace skein::channel::shm
