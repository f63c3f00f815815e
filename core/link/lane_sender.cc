// The sending half of a lane: items of streams and of the link itself, as many as fit, in one message.
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/link/lane.h"
#include "core/trace/counters.h"
#include "core/trace/probes.h"
#include "core/trace/tracer.h"
#include "core/wire/block.h"
#include "core/wire/bytes.h"
#include "core/wire/immediate.h"

namespace skein::link {
namespace {

using schedule::Credits;

constexpr size_t kMaxControlItems = 64;  // per message
// Three for each of ten thousand streams. Each may keep its stream's memory: a peer that takes none has no more kept.
constexpr size_t kMostWaiting = 32768;
// Of a batch; whoever leads is kept from its own business by no more.
constexpr size_t kMaxBatch = 32;  // submissions
constexpr size_t kMaxBatchBytes = 32 << 10;
constexpr size_t kWorthSharing = 1024;  // bytes that a follower copies for its leader; for fewer, telling it costs more

ConstBytes AsBytes(const std::string& text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

// The items of a batch are a message's last. `what` is done for those of which parts may go.
template <class What>
void ForTaken(coalesce::Batch<Submission>& batch, absl::Span<ring::OutItem> items, What what) {
  size_t item = items.size();
  for (const Submission& submission : batch) item -= submission.taken_items();
  for (Submission& submission : batch) {
    if (submission.taken() > 0 && !submission.whole()) what(submission, items[item]);
    item += submission.taken_items();
  }
}

}  // namespace

// False: not all of it fits.
bool Lane::AddControl(size_t room) {
  for (Control& control : control_) {
    if (control.kind == wire::ItemKind::kWindow) {
      control.payload.clear();
      wire::Put(control.payload, control.port->window_to_return_);
    }
    if (outgoing_.size() == kMaxControlItems) return false;
    if (outgoing_.bytes() + wire::ItemBytes(control.payload.size()) > room) return false;
    outgoing_.Add(control.port.get(), control.stream, control.kind, AsBytes(control.payload));
  }
  return true;
}

// Followers copy by themselves what is worth telling them of.
void Lane::LeaveCopying(Batch& batch, absl::Span<ring::OutItem> items) const {
  if (!writer_->copies()) return;
  const Submission& own = *batch.begin();
  ForTaken(batch, items, [&](const Submission& submission, ring::OutItem& item) {
    item.leaves_copying = &submission != &own && submission.taken() >= kWorthSharing;
  });
}

void Lane::ShareCopying(Batch& batch, absl::Span<ring::OutItem> items) {
  ForTaken(batch, items, [](Submission& submission, const ring::OutItem& item) {
    if (!item.leaves_copying) return;
    submission.set_destination(item.destination);
    coalesce::CombiningQueue<Submission>::Offer(submission);
  });
  ForTaken(batch, items, [](Submission& submission, const ring::OutItem& item) {
    if (item.leaves_copying && !coalesce::CombiningQueue<Submission>::Collect(submission)) submission.Copy();
  });
}

absl::Status Lane::WithRoom(absl::FunctionRef<absl::Status()> post) {
  absl::Status status = post();
  if (!absl::IsResourceExhausted(status)) return status;
  queues_.Poll();  // completions make room in the send queue
  return connected() ? post() : status;
}

bool Lane::MustRing() const { return link::MustRing(peer_, attention_.quiet.load(std::memory_order_relaxed)); }

// No more bells than messages without: the receives that those did not take are left for them.
void Lane::RingIfUnseen() {
  if (unrung_ == 0 || writer_ == nullptr || !error_.ok()) return;
  if (unrung_ > writer_->peer_head()) {
    const absl::Status status = WithRoom([this] { return writer_->Ring(); });
    // Without room in the send queue: when its completions come, or with the next message.
    if (absl::IsResourceExhausted(status)) return waits_.store(true, std::memory_order_release);
    if (!status.ok()) return FailLocked(status);
  }
  unrung_ = 0;
}

void Lane::RingForUnseen() {
  MutexLock lock(&mu_);
  RingIfUnseen();
}

void Lane::TellPresence() {
  MutexLock lock(&mu_);
  if (told_ == attention_.presence.load(std::memory_order_relaxed)) return;
  if (writer_ == nullptr || !error_.ok()) return;
  // Nobody needs to wake for it: who is quiet polls, and who is not rings. Without room it is said by the next message.
  WriteHead(ring::Reserve::kHead, {.silent = true}).IgnoreError();
}

// What outgoing_ has, with a word on the peer's credits and a request for own ones, if it is time for either.
absl::Status Lane::Write(ring::Reserve reserve, const Manner& manner) {
  const Presence presence = attention_.presence.load(std::memory_order_relaxed);
  ring::Envelope envelope;
  envelope.head = read_head_.load(std::memory_order_acquire);
  envelope.flags = static_cast<uint16_t>(presence);
  if (!words_.empty()) envelope.flags |= words_.front();
  if (trace::Enabled() || attention_.peer_traces.load(std::memory_order_relaxed)) [[unlikely]] {
    departure_.posted = trace::Now();
    envelope.stage_time = wire::StageTime(departure_.posted, trace::Enabled());
  }
  ring::Posting posting;
  posting.signaled = manner.signaled;
  const bool asks = credits_.renewal_due();
  if (asks) posting.immediate = wire::EncodeRenewal(credits_.MedianDegree());
  posting.rings = asks || (manner.silent ? !words_.empty() : MustRing());
  const absl::Span<ring::OutItem> items = outgoing_.items();
  if (manner.batch != nullptr) LeaveCopying(*manner.batch, items);
  absl::Status status = writer_->Lay(items, envelope, reserve);
  if (status.ok() && manner.batch != nullptr) ShareCopying(*manner.batch, items);
  if (status.ok()) status = WithRoom([&] { return writer_->Post(posting); });
  if (!status.ok()) {
    if (!absl::IsResourceExhausted(status)) FailLocked(status);
    return status;
  }
  told_ = presence;
  // What nobody is woken for does not count as told.
  if (posting.rings || !manner.silent) {
    unrung_ = posting.rings ? 0 : writer_->tail();
    told_head_ = envelope.head;
    head_wanted_ = false;
  }
  if (asks) credits_.OnAsked();
  if (!words_.empty()) words_.pop_front();
  return status;
}

// One message: control that waits, then as much of each submission as there is room for. RESOURCE_EXHAUSTED when there
// is none for anything.
absl::Status Lane::SendOne(Batch* batch) {
  const ring::Reserve reserve = batch == nullptr ? ring::Reserve::kControl : ring::Reserve::kData;
  if (!credits_.CanSend(batch == nullptr ? Credits::Use::kControl : Credits::Use::kData)) {
    TellWords();
    return absl::ResourceExhaustedError("no credits");
  }
  const size_t room = writer_->Room(reserve);
  outgoing_.Clear();
  const bool all_control = AddControl(room);
  const size_t controls = outgoing_.size();
  // Data must not overtake control of its own stream.
  const size_t degree = batch != nullptr && all_control ? AddData(*batch, room) : 0;
  if (outgoing_.empty()) return absl::ResourceExhaustedError("the peer's ring is full");
  if (absl::Status status = Write(reserve, {.batch = degree > 0 ? batch : nullptr}); !status.ok()) {
    // Not sent: sequences have no gaps. (When all is over, there are no more sequences, and perhaps no more ports.)
    if (error_.ok()) outgoing_.TakeBack();
    return status;
  }
  credits_.OnSent(degree);
  trace::probes::Posted(this, outgoing_.bytes(), degree);
  departure_.degree = static_cast<uint16_t>(degree);
  outgoing_.MarkPosted(writer_->tail());
  CountMessage(degree);
  for (size_t i = 0; i < controls; ++i) {
    if (control_.front().kind == wire::ItemKind::kWindow) control_.front().port->window_to_return_ = 0;
    control_.pop_front();
  }
  return absl::OkStatus();
}

// Gives the number of submissions of which anything was taken.
size_t Lane::AddData(Batch& batch, size_t room) {
  size_t degree = 0;
  for (Submission& submission : batch) {
    submission.Take(0);
    if (!IsHere(submission.port()) || submission.port().migration_.draining()) continue;
    if (submission.whole()) {
      degree += AddWhole(submission, room);
      continue;
    }
    if (room <= outgoing_.bytes() + sizeof(wire::ItemHeader)) continue;
    const size_t most = (room - outgoing_.bytes() - sizeof(wire::ItemHeader)) & ~size_t{7};
    submission.Take(std::min(submission.left(), most));
    if (submission.taken() == 0) continue;
    outgoing_.AddGathered(&submission.port(), submission.port().stream(), wire::ItemKind::kData, submission.buffers(),
                          submission.offset(), submission.taken());
    submission.port().load_.Add(submission.taken());
    ++degree;
  }
  return degree;
}

// As many items as fit; the number of submissions of which anything was taken.
size_t Lane::AddWhole(Submission& submission, size_t room) {
  size_t bytes = 0;
  size_t items = 0;
  for (const Gathered& item : submission.items()) {
    const size_t size = SizeOf(item);
    if (outgoing_.bytes() + wire::ItemBytes(size) > room) break;
    outgoing_.AddGathered(&submission.port(), submission.port().stream(), submission.kind(), item, 0, size);
    bytes += size;
    ++items;
  }
  submission.Take(bytes, items);
  if (items == 0) return 0;
  submission.port().load_.Add(bytes);
  return 1;
}

void Lane::FlushControl() {
  while (writer_ != nullptr && error_.ok() && !control_.empty()) {
    if (!SendOne(nullptr).ok()) return;  // tried again when the peer's head has moved
  }
}

absl::StatusOr<size_t> Lane::Send(Submission submission) {
  while (submission.left() > 0 && !submission.stopped()) {
    Lane* const lane = submission.port().lane_.load(std::memory_order_acquire);
    // One message at a time, then to the end of the queue: nobody waits for a long one to be over.
    const coalesce::Turn turn = lane->submissions_.Join(submission, [&] { submission.Copy(); });
    if (turn == coalesce::Turn::kLead) lane->Lead(submission);
  }
  if (!submission.error().ok()) return submission.error();
  if (submission.departure().led != 0) last_departure = submission.departure();
  return submission.sent();
}

void Lane::Lead(Submission& own) {
  size_t bytes = own.left();
  Batch batch = submissions_.Gather(own, options_.combines ? kMaxBatch : 1, [&](const Submission& next) {
    bytes += next.left();
    return bytes <= kMaxBatchBytes;
  });
  {
    MutexLock lock(&mu_);
    SendBatch(batch);
  }
  submissions_.Finish(batch);
}

void Lane::SendBatch(Batch& batch) {
  departure_.led = trace::Enabled() ? trace::Now() : 0;
  const bool sent = writer_ != nullptr && error_.ok() && SendOne(&batch).ok();
  for (Submission& submission : batch) {
    if (!IsHere(submission.port())) continue;  // tries again where it is now
    if (sent && !submission.port().migration_.draining()) {
      submission.Sent();
      if (departure_.led != 0) [[unlikely]]
        submission.set_departure(departure_);
      continue;
    }
    submission.Stop(error_);
    if (error_.ok()) WaitForRoom(submission.port());
  }
}

Lane* Lane::Lock(Port& port) {
  for (;;) {
    Lane* const lane = port.lane_.load(std::memory_order_acquire);
    lane->mu_.Lock();
    if (lane->IsHere(port)) return lane;
    lane->mu_.Unlock();
  }
}

void Lane::SendControl(const std::shared_ptr<Port>& port, wire::ItemKind kind, std::string payload) {
  Lane* const lane = Lock(*port);
  lane->Queue({port, port->stream(), kind, std::move(payload)});
  lane->FlushControl();
  lane->mu_.Unlock();
}

void Lane::ReturnWindow(const std::shared_ptr<Port>& port, uint64_t bytes) {
  Lane* const lane = Lock(*port);
  const bool queued = std::exchange(port->window_to_return_, port->window_to_return_ + bytes) > 0;
  if (!queued) lane->Queue({port, port->stream(), wire::ItemKind::kWindow, {}});
  lane->FlushControl();
  lane->mu_.Unlock();
}

void Lane::SendControl(wire::ItemKind kind, std::string payload, uint32_t stream) {
  MutexLock lock(&mu_);
  Queue({nullptr, stream, kind, std::move(payload)});
  FlushControl();
}

absl::Status Lane::SendPulled(absl::string_view numbers) {
  MutexLock lock(&mu_);
  const auto waiting =
      absl::c_find_if(control_, [](const Control& control) { return control.kind == wire::ItemKind::kPulled; });
  if (waiting == control_.end()) {
    Queue({nullptr, 0, wire::ItemKind::kPulled, std::string(numbers)});
  } else if (waiting->payload.size() + numbers.size() <= wire::kMaxBlocks * sizeof(uint32_t)) {
    waiting->payload.append(numbers.data(), numbers.size());
  } else {
    return absl::DataLossError("more blocks announced than there are");
  }
  FlushControl();
  return absl::OkStatus();
}

void Lane::QueueControl(wire::ItemKind kind, std::string payload, uint32_t stream) {
  MutexLock lock(&mu_);
  Queue({nullptr, stream, kind, std::move(payload)});
}

void Lane::Queue(Control control) {
  if (!error_.ok()) return;
  if (control_.size() == kMostWaiting) {
    return FailLocked(absl::UnavailableError(absl::StrCat("the peer has left ", kMostWaiting, " items unread")));
  }
  control_.push_back(std::move(control));
  waits_.store(true, std::memory_order_release);
}

void Lane::WaitForRoom(Port& port) {
  if (std::exchange(port.waits_for_room_, true)) return;
  waits_.store(true, std::memory_order_release);
  room_waiters_.push_back(port.weak_from_this());
  room_wanted_.store(true, std::memory_order_relaxed);
}

std::vector<std::shared_ptr<Port>> Lane::TakeRoomWaiters() {
  std::vector<std::shared_ptr<Port>> ports;
  if (!room_wanted_.load(std::memory_order_relaxed)) return ports;
  MutexLock lock(&mu_);
  LetGo();
  ports.swap(moved_);
  if (room_waiters_.empty() || writer_ == nullptr || writer_->Room(ring::Reserve::kData) == 0) return ports;
  if (!credits_.CanSend(Credits::Use::kData)) return ports;
  room_wanted_.store(!leaving_.empty(), std::memory_order_relaxed);
  for (const std::weak_ptr<Port>& waiter : std::exchange(room_waiters_, {})) {
    if (std::shared_ptr<Port> port = waiter.lock()) {
      if (IsHere(*port)) port->waits_for_room_ = false;
      ports.push_back(std::move(port));
    }
  }
  return ports;
}

absl::Status Lane::WriteHead(ring::Reserve reserve, const Manner& manner) {
  outgoing_.Clear();
  outgoing_.Add(nullptr, 0, wire::ItemKind::kHead, {});
  return Write(reserve, manner);
}

// Credits are talked about without any: two ends could otherwise wait for each other.
void Lane::TellWords() {
  while (HasWords() && WriteHead(ring::Reserve::kHead, {}).ok()) {
  }
}

absl::Status Lane::AnswerRenewal(bool granted) {
  MutexLock lock(&mu_);
  const auto answers = [](uint16_t word) { return word == wire::kGrant || word == wire::kDecline; };
  if (absl::c_any_of(words_, answers)) return absl::DataLossError("credits asked for before the last answer");
  trace::Count(granted ? trace::Counter::kCreditsGranted : trace::Counter::kCreditsDeclined);
  peer_may_send_ = granted;
  words_.push_back(granted ? wire::kGrant : wire::kDecline);
  return absl::OkStatus();
}

void Lane::Activate() {
  MutexLock lock(&mu_);
  if (!error_.ok() || std::exchange(peer_may_send_, true)) return;
  words_.push_back(wire::kActivate);
  if (writer_ != nullptr) TellWords();
}

bool Lane::usable() const {
  MutexLock lock(&mu_);
  return writer_ != nullptr && error_.ok() && credits_.active() && !vacating_;
}

void Lane::AfterReceiving() {
  MutexLock lock(&mu_);
  if (MustRing()) RingIfUnseen();
  FlushControl();
  if (writer_ == nullptr || !error_.ok()) return;
  TellWords();
  const uint64_t untold = read_head_.load(std::memory_order_acquire) - told_head_;
  if (untold == 0) head_wanted_ = false;
  if (untold < options_.ring_bytes / 4 && !head_wanted_) return;
  // Refused only when the peer has not read even the last reserve; it will be told by the next message.
  if (!credits_.CanSend(Credits::Use::kControl)) return;
  if (WriteHead(ring::Reserve::kHead, {}).ok()) credits_.OnSent(0);
}

bool Lane::Flush(bool tells) {
  MutexLock lock(&mu_);
  const bool flushed = FlushLocked();
  if (!flushed && !flush_wanted()) waits_.store(true, std::memory_order_release);
  if (!flushed || tells) flush_wanted_.store(!flushed, std::memory_order_relaxed);
  return flushed;
}

bool Lane::FlushLocked() {
  if (writer_ == nullptr || !error_.ok() || vacant_) return true;
  FlushControl();
  if (!control_.empty()) return false;
  // Most requests complete silently: one more, which does not, tells of all before it.
  if (reached_.load(std::memory_order_relaxed) >= flush_mark_ && flush_mark_ != writer_->posted()) {
    if (!credits_.CanSend(Credits::Use::kControl)) return false;
    if (!WriteHead(ring::Reserve::kControl, {.signaled = true}).ok()) return false;
    credits_.OnSent(0);
    flush_mark_ = writer_->posted();
    queues_.Poll();
  }
  return reached_.load(std::memory_order_relaxed) == writer_->posted();
}

bool Lane::awaited() const {
  MutexLock lock(&mu_);
  return !room_waiters_.empty() || !moved_.empty() || !control_.empty() || HasWords() || flush_wanted() ||
         (unrung_ != 0 && MustRing());
}

void Lane::FailLocked(const absl::Status& why) {
  if (vacant_) return queue_pair_->Close();
  error_ = absl::UnavailableError(why.message());
  control_.clear();
  queue_pair_->Close();
  queues_.completions().Wake();  // the poller learns it, and tells the ports
}

}  // namespace skein::link
