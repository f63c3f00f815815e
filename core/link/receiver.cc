// The receiving half: messages out of the channels, their items to the ports, the ports' observers called at the end.
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/link/link.h"
#include "core/trace/counters.h"
#include "core/trace/probes.h"
#include "core/trace/tracer.h"
#include "core/wire/bytes.h"

namespace skein::link {
namespace {

constexpr int kMessagesPerBatch = 64;  // then the ports hear of them
// Turns that find messages, for one that looks at the queues. A peer's credits last for four times as many.
constexpr int kLookEvery = 8;
// Of polling until nothing is found, and arming, which then finds something.
constexpr int kMostRounds = 64;

absl::StatusOr<uint64_t> Number(const wire::Item& item) {
  const std::string bytes = wire::CopyOf(item.payload);
  wire::FieldReader reader(bytes);
  const auto number = reader.Take<uint64_t>();
  if (!reader.done()) return absl::DataLossError("an item whose payload is not a number");
  return number;
}

}  // namespace

bool Link::TakePolling() {
  Polling free = Polling::kFree;
  return polling_.compare_exchange_strong(free, Polling::kOwned, std::memory_order_acquire);
}

void Link::LeavePolling() {
  Polling owned = Polling::kOwned;
  while (
      !polling_.compare_exchange_strong(owned, Polling::kFree, std::memory_order_release, std::memory_order_relaxed)) {
    // Somebody is going to sleep, trusting that this thread leaves nothing behind. Acquire: of what he has said by
    // Woke.
    polling_.exchange(Polling::kOwned, std::memory_order_acquire);
    if (!ArmOwned()) PollUntilArmed();
    owned = Polling::kOwned;
  }
}

bool Link::Glance() {
  if (finished() || !TakePolling()) return false;
  const bool readable = ReadableLanes() != 0;
  LeavePolling();
  return readable;
}

bool Link::Poll() {
  if (finished() || !TakePolling()) return false;
  const bool any = PollOwned();
  LeavePolling();
  return any;
}

bool Link::Drain() {
  if (finished()) return true;
  if (!TakePolling()) return false;
  PollUntilArmed();
  LeavePolling();
  return true;
}

// Arms because the polls may have acknowledged what another thread sleeps for. What is there at the call ends within a
// ring, and within a round: a peer that goes on writing, or asking for credits, keeps its sleeper busy, not the caller.
void Link::PollUntilArmed() {
  uint64_t end = bytes_read();
  for (const auto& lane : all_lanes()) end += lane->channel().capacity();
  for (int round = 0; round < kMostRounds && bytes_read() < end; ++round) {
    while (bytes_read() < end && PollOwned()) {
    }
    if (ArmOwned()) return;
  }
  group_->Wake();
}

bool Link::Arm() {
  for (;;) {
    if (finished()) return true;
    if (TakePolling()) {
      const bool armed = ArmOwned();
      LeavePolling();
      return armed;
    }
    Polling owned = Polling::kOwned;
    if (polling_.compare_exchange_strong(owned, Polling::kOwnedAndArmWanted, std::memory_order_release)) return true;
    // Wanted by another already: said once more, so that the owner sees what this thread has done before.
    if (owned == Polling::kOwnedAndArmWanted &&
        polling_.compare_exchange_strong(owned, Polling::kOwnedAndArmWanted, std::memory_order_release)) {
      return true;
    }
  }
}

void Link::Disarm() {
  if (finished() || !TakePolling()) return;
  if (armed_ && group_->Disarm()) armed_ = false;
  LeavePolling();
}

bool Link::ArmOwned() {
  if (finished()) return true;
  if (!group_->Arm().ok()) {
    // Who cannot sleep must not poll for ever: the link is lost by the next poll.
    first().Close();
    first().channel().Disconnect();
    return false;
  }
  armed_ = true;
  group_->Look();
  return end_.ok() && !woken_.load(std::memory_order_acquire) && !SendsCompletedForSomebody() && !PullsWait() &&
         absl::c_none_of(all_lanes(), [](const auto& lane) {
           return lane->Settle() || lane->Ends() || lane->channel().renewal_waits() || lane->channel().Readable() ||
                  lane->channel().MoreRoom();
         });
}

// Completions that another thread, or the look after arming, has taken out of the queue: who waits for them would not
// be woken again.
bool Link::SendsCompletedForSomebody() {
  return group_->sends_completed() && absl::c_any_of(all_lanes(), [](const auto& lane) { return lane->awaited(); });
}

void Link::Acknowledge() {
  const bool woken = woken_.load(std::memory_order_relaxed) && woken_.exchange(false, std::memory_order_acquire);
  const bool armed = std::exchange(armed_, false);
  if (armed && !woken) group_->AckEvents();
  if (woken) {
    group_->AckAllEvents();
    trace::Count(trace::Counter::kWakeUps);
    trace::probes::Woken(this);
  }
}

bool Link::PollOwned() {
  if (finished()) return false;
  if (armed_ || woken_.load(std::memory_order_relaxed)) Acknowledge();
  // While messages come, the queues and the end can wait a little: their bell is known to have rung.
  uint32_t readable = ReadableLanes();
  const bool looks = readable == 0 || ++unlooked_ == kLookEvery || (pulls_ != nullptr && pulls_->under_way());
  bool sends_completed = false;
  if (looks) {
    unlooked_ = 0;
    const bool news = group_->Look();
    sends_completed = group_->TakeSendsCompleted();
    if (readable == 0 && news) readable = ReadableLanes();
  }
  const bool ends = (looks || !end_.ok()) && Ends();
  if (ends) readable = ReadableLanes();  // the peer's last words came before its end
  if (readable == 0 && !sends_completed && !ends && Idle()) return false;
  int messages = 0;
  bool looked = false;
  absl::Status status;
  for (size_t i = 0; i < lanes() && status.ok(); ++i) {
    status = PollLane(*lanes_[i], (readable >> i & 1) != 0, sends_completed, messages, looked);
  }
  if (status.ok() && (pulls_ != nullptr || blocks_.wanted())) status = Pull(messages);
  if (status.ok() && last_lane_ == LastLane::kConnecting) [[unlikely]]
    status = GoOnConnecting();
  // What the peer wrote before the end is still delivered, whichever lane ended first.
  const bool over =
      ends && (messages == 0 || absl::c_all_of(all_lanes(), [](const auto& lane) { return lane->spent(); }));
  const bool lost = !status.ok() || over;
  bool flush_wanted = !lost && (looked ? FlushWanted() : messages > 0 && blocks_.flush_wanted());
  if (lost) {
    Lose(status.ok() ? end_ : status);
  } else {
    if (grows()) Resize();
    if (grows() || first().told()) {
      if (absl::Status after = AfterPlacing(); !after.ok() && end_.ok()) end_ = after;  // for the next poll
    }
    // A lane that goes takes along that it has just been asked, and has said no.
    if (grows()) flush_wanted |= GoOnClosing();
  }
  NotifyTouched();
  if (flush_wanted || lost) TellFlushed();
  return lost || messages > 0;
}

// Most turns of most links find nothing to do.
bool Link::Idle() const { return !grows() && pulls_ == nullptr && !blocks_.wanted() && !first().WantsPoller(); }

bool Link::FlushWanted() const {
  return blocks_.flush_wanted() || absl::c_any_of(all_lanes(), [](const auto& lane) { return lane->flush_wanted(); });
}

// Asked before the last look at the rings. Once one lane has ended, all have: each reads at most a ring of what had
// arrived.
bool Link::Ends() {
  for (const auto& lane : all_lanes()) {
    if (end_.ok() && lane->Ends()) end_ = lane->why_disconnected();
  }
  if (end_.ok()) return false;
  for (const auto& lane : all_lanes()) {
    lane->channel().Disconnect();
    lane->Ends();
  }
  return true;
}

// Streams may just have changed lanes, and words for the first lane have come up on others.
absl::Status Link::AfterPlacing() {
  for (const auto& lane : all_lanes()) {
    if (lane->room_wanted()) TouchRoomWaiters(*lane);
  }
  if (first().TakeWaits()) return first().AfterReceiving();
  return absl::OkStatus();
}

// Adds to `messages` what was read; `looked` becomes true if anything may have changed for who waits.
absl::Status Link::PollLane(Lane& lane, bool readable, bool sends_completed, int& messages, bool& looked) {
  int here = 0;
  if (readable) {
    if (absl::Status status = Read(lane, here); !status.ok()) return status;
    messages += here;
  }
  const bool said = here > 0 && lane.channel().AfterReading();
  if (!said && !sends_completed && !lane.WantsPoller()) [[likely]]
    return absl::OkStatus();
  const bool renewal = lane.channel().renewal_waits();
  if (renewal) {
    const std::optional<uint16_t> degree = lane.channel().TakeRenewal();
    const bool granted = !sender_.has_value() || options_.shares->Renew(*sender_, lane.number(), degree.value_or(0));
    if (absl::Status status = lane.AnswerRenewal(granted); !status.ok()) return status;
    // Shares may have changed their mind meanwhile, and would not say so again.
    if (!granted && options_.shares->active(*sender_, lane.number())) lane.Activate();
  }
  const bool may_send = lane.TakeWaits() || sends_completed || lane.channel().MoreRoom();
  const absl::StatusOr<bool> upkept = lane.TakeUpkept();
  if (!upkept.ok()) return upkept.status();
  looked |= *upkept;
  if (!said && !may_send && !renewal) return absl::OkStatus();
  looked = true;
  return lane.AfterReceiving();
}

// Counts the messages read.
absl::Status Link::Read(Lane& lane, int& messages) {
  for (bool more = true; more; more = ++messages < kMessagesPerBatch && lane.channel().Readable()) {
    const absl::StatusOr<std::optional<channel::InMessage>> message = lane.channel().Next();
    if (!message.ok()) return message.status();
    if (!message->has_value()) break;
    if (absl::Status status = Receive(lane, **message); !status.ok()) return status;
    lane.channel().Pop();
  }
  return absl::OkStatus();
}

// Bit by bit.
uint32_t Link::ReadableLanes() const {
  static_assert(kMaxLanes <= 32);
  if (!grows()) return uint32_t{first().channel().Readable()};
  uint32_t readable = 0;
  for (size_t i = lanes(); i-- > 0;) readable = readable << 1 | uint32_t{lanes_[i]->channel().Readable()};
  return readable;
}

uint64_t Link::bytes_read() const {
  uint64_t bytes = bytes_read_before_;
  for (const auto& lane : all_lanes()) bytes += lane->channel().bytes_read();
  return bytes;
}

void Link::TellFlushed() {
  std::vector<std::function<void(const absl::Status&)>> waiters;
  {
    MutexLock lock(&flush_mu_);
    // Asked under the lock: who has begun to wait since may have sent more.
    if (!Flush(/*tells=*/true)) return;
    waiters.swap(flush_waiters_);
  }
  const absl::Status status = send_error();
  for (const auto& waiter : waiters) waiter(status);
  if (on_flushed_) on_flushed_();
}

absl::Status Link::send_error() const {
  for (const auto& lane : all_lanes()) {
    if (absl::Status error = lane->error(); !error.ok()) return error;
  }
  return absl::OkStatus();
}

// Who traces wants to know when it was answered, too.
void Link::NoteArrival(uint64_t stage_time) {
  group_->attention().peer_traces.store(wire::SenderTraces(stage_time), std::memory_order_relaxed);
  const bool traced = stage_time != 0 || trace::Enabled();
  arrival_ = traced ? Arrival{stage_time, trace::Now()} : Arrival{};
}

absl::Status Link::Receive(Lane& lane, const channel::InMessage& message) {
  if ((message.stage_time | arrival_.arrived) != 0 || trace::Enabled()) [[unlikely]] {
    NoteArrival(message.stage_time);
  }
  for (wire::ItemWalk items = message.walk(); !items.done();) {
    const absl::StatusOr<wire::Item> item = items.Next();
    if (!item.ok()) return item.status();
    const bool hello = item->header.kind == wire::ItemKind::kHello;
    if (passive_ && !hello && !lane.greeted()) return absl::DataLossError("the peer's first item is not a hello");
    const bool own = item->header.stream == 0;
    if (absl::Status status = own ? ReceiveOwn(lane, *item) : ReceiveForStream(*item); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// What one end of the link tells the other.
absl::Status Link::ReceiveOwn(Lane& lane, const wire::Item& item) {
  switch (item.header.kind) {
    case wire::ItemKind::kHello:
      return ReceiveHello(lane, item.payload);
    case wire::ItemKind::kBye:
      if (end_.ok()) end_ = absl::AbortedError("the peer has left it");
      return absl::OkStatus();
    case wire::ItemKind::kPulled:
      return OnPulled(item.payload);
    case wire::ItemKind::kOpenLane:
      return OnOpenLane(item.payload);
    case wire::ItemKind::kLane:
      return OnLane(item.payload);
    case wire::ItemKind::kNoLane:
      return OnNoLane();
    case wire::ItemKind::kCloseLane:
      return OnCloseLane();
    case wire::ItemKind::kLaneClosed:
      return OnLaneClosed();
    default:
      return absl::DataLossError("an item for stream 0");
  }
}

absl::Status Link::ReceiveHello(Lane& lane, absl::Span<const std::byte> payload) {
  if (!passive_ || !lane.Greet()) return absl::DataLossError("an unexpected hello");
  const absl::Status met = lane.OnGreeting(wire::CopyOf(payload));
  // Without memory for one lane more, the others go on.
  return absl::IsResourceExhausted(met) && lane.number() > 0 ? absl::OkStatus() : met;
}

// The port that the last item was for, if that is it: without the lock, and without keeping it alive.
std::shared_ptr<Port> Link::RecentPort(uint32_t stream) const {
  if (stream != recent_stream_) return nullptr;
  std::shared_ptr<Port> port = recent_.lock();
  return port != nullptr && !port->removed_.load(std::memory_order_acquire) ? port : nullptr;
}

absl::Status Link::ReceiveForStream(const wire::Item& item) {
  const bool block = item.header.kind == wire::ItemKind::kBlock;
  std::shared_ptr<Port> port = RecentPort(item.header.stream);
  if (port == nullptr) {
    MutexLock lock(&ports_mu_);
    const auto found = ports_.find(item.header.stream);
    if (found != ports_.end()) {
      recent_ = port = found->second;
      recent_stream_ = item.header.stream;
    } else if (absl::Status status = ReceiveForNobody(item.header); !status.ok() || !block) {
      return status;
    }
  }
  if (port == nullptr) return OnBlock(nullptr, item.payload);
  // Whatever a peer may still have under way when it aborts.
  if (std::exchange(port->aborted_in_, port->aborted_in_ || item.header.kind == wire::ItemKind::kAbort)) {
    return absl::OkStatus();
  }
  // An abort may come from a peer that has forgotten the stream already.
  if (item.header.kind != wire::ItemKind::kAbort && item.header.sequence != port->next_in_++) {
    return absl::DataLossError(absl::StrCat("stream ", item.header.stream, " skipped an item"));
  }
  if (arrival_.arrived != port->arrival_.arrived) [[unlikely]]
    port->arrival_ = arrival_;
  Port& touched = *port;
  Touch(std::move(port));
  return block ? OnBlock(&touched, item.payload) : Deliver(touched, item);
}

absl::Status Link::ReceiveForNobody(const wire::ItemHeader& header) {
  const bool ended = header.stream != 0 && header.stream <= highest_stream_;
  // The passive side may give a stream up before the active one has heard of it.
  const bool early_end = !passive_ && header.stream != 0 &&
                         (header.kind == wire::ItemKind::kAbort || header.kind == wire::ItemKind::kCloseWrite);
  if (!ended && !early_end) return absl::DataLossError(absl::StrCat("an item for stream ", header.stream));
  if (passive_ && header.kind == wire::ItemKind::kOpen) {
    // Each is answered; who repeats them and never reads the answers must not fill memory with these.
    if (++refused_opens_ > highest_stream_) return absl::DataLossError("more opens than streams");
    first().QueueControl(wire::ItemKind::kAbort, "the stream has ended", header.stream);
  }
  return absl::OkStatus();
}

absl::Status Link::Deliver(Port& port, const wire::Item& item) {
  switch (item.header.kind) {
    case wire::ItemKind::kData:
      return port.OnData(item.payload);
    case wire::ItemKind::kCloseWrite:
      return port.OnCloseWrite();
    case wire::ItemKind::kAbort:
      port.OnAbort(wire::CopyOf(item.payload.subspan(0, wire::kMaxAbortTextBytes)));
      return absl::OkStatus();
    case wire::ItemKind::kOpen:
    case wire::ItemKind::kWindow: {
      const absl::StatusOr<uint64_t> number = Number(item);
      if (!number.ok()) return number.status();
      return item.header.kind == wire::ItemKind::kOpen ? port.OnOpen(*number) : port.OnWindow(*number);
    }
    default:
      return absl::DataLossError("an item of the link's own, for a stream");
  }
}

void Link::TouchRoomWaiters(Lane& lane) {
  for (const std::shared_ptr<Port>& port : lane.TakeRoomWaiters()) {
    port->OnRoom();
    Touch(port);
  }
}

// Until NotifyTouched it lives.
void Link::Touch(std::shared_ptr<Port> port) {
  if (!std::exchange(port->touched_, true)) touched_.push_back(std::move(port));
}

// A port's Notify may poll, and is told that another thread does: so nobody is touched meanwhile.
void Link::NotifyTouched() {
  for (const std::shared_ptr<Port>& port : touched_) {
    port->touched_ = false;
    port->Notify();
  }
  touched_.clear();
}

void Link::Lose(const absl::Status& why) {
  absl::flat_hash_map<uint32_t, std::shared_ptr<Port>> ports;
  {
    MutexLock lock(&ports_mu_);
    lost_.store(true, std::memory_order_release);
    ports.swap(ports_);
    abandoned_ports_ = 0;
  }
  const absl::StatusCode code = absl::IsAborted(why) ? absl::StatusCode::kAborted : absl::StatusCode::kUnavailable;
  const absl::Status lost(code, absl::StrCat("the link to the peer is lost: ", why.message()));
  for (const auto& lane : all_lanes()) lane->Fail(lost);
  blocks_.Fail();
  if (pulls_ != nullptr) pulls_->Clear();
  for (const auto& [stream, port] : ports) {
    port->OnLost(lost);
    Touch(port);
  }
  group_->Wake();  // who sleeps on it must find out that there is no more to wait for
}

}  // namespace skein::link
