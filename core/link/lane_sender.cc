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

namespace skein::link {
namespace {

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
void ForTaken(SendPlace::Batch& batch, absl::Span<channel::OutItem> items, What what) {
  size_t item = items.size();
  for (SendPlace::Request& each : batch) item -= Submission::Of(each).taken_items();
  for (SendPlace::Request& each : batch) {
    Submission& submission = Submission::Of(each);
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
    control.bytes = AsBytes(control.payload);
    outgoing_.Add(control.port.get(), control.stream, control.kind, {&control.bytes, 1}, 0, control.payload.size());
  }
  return true;
}

// Followers copy by themselves what is worth telling them of.
void Lane::LeaveCopying(Batch& batch, absl::Span<channel::OutItem> items) const {
  const Submission& own = Submission::Of(*batch.begin());
  ForTaken(batch, items, [&](const Submission& submission, channel::OutItem& item) {
    item.leaves_copying = &submission != &own && submission.taken() >= kWorthSharing;
  });
}

void Lane::ShareCopying(Batch& batch, absl::Span<channel::OutItem> items) {
  ForTaken(batch, items, [](Submission& submission, const channel::OutItem& item) {
    if (!item.leaves_copying) return;
    submission.set_destination(item.destination);
    SendPlace::Queue::Offer(submission);
  });
  ForTaken(batch, items, [](Submission& submission, const channel::OutItem& item) {
    if (item.leaves_copying && !SendPlace::Queue::Collect(submission)) submission.Copy();
  });
}

void Lane::RingForUnseen() {
  Visit visit(this);
  if (MaySend()) channel_->RingForUnseen();
}

void Lane::TellPresence() {
  Visit visit(this);
  if (MaySend()) channel_->TellPresence();
}

// What outgoing_ has.
absl::Status Lane::Write(channel::Use use, Batch* batch, size_t degree) {
  const absl::Span<channel::OutItem> items = outgoing_.items();
  if (degree > 1) LeaveCopying(*batch, items);
  absl::Status status = channel_->Lay(items, use);
  if (status.ok() && degree > 1) ShareCopying(*batch, items);
  if (status.ok()) {
    channel::Publication publication;
    publication.degree = degree;
    if (trace::Enabled() || group_.attention().peer_traces.load(std::memory_order_relaxed)) [[unlikely]] {
      departure_.posted = trace::Now();
      publication.stage_time = wire::StageTime(departure_.posted, trace::Enabled());
    }
    status = channel_->Publish(publication);
  }
  if (!status.ok() && !absl::IsResourceExhausted(status)) FailHere(status);
  return status;
}

// One message: control that waits, then as much of each submission as there is room for. RESOURCE_EXHAUSTED when there
// is none for anything. `wanted`: what the batch would take. Most messages fit; the leader then need not ask how much
// more would.
absl::Status Lane::SendOne(Batch* batch, size_t wanted) {
  const channel::Use use = batch == nullptr ? channel::Use::kControl : channel::Use::kData;
  const bool fits = control_.empty() && channel_->Fits(wanted, use);
  const size_t room = fits ? wanted : channel_->Room(use);
  outgoing_.Clear();
  const bool all_control = control_.empty() || AddControl(room);
  const size_t controls = outgoing_.size();
  // Data must not overtake control of its own stream.
  const size_t degree = batch != nullptr && all_control ? AddData(*batch, room) : 0;
  if (outgoing_.empty()) return absl::ResourceExhaustedError("the peer's queue is full");
  if (absl::Status status = Write(use, batch, degree); !status.ok()) {
    // Not sent: sequences have no gaps. (When all is over, there are no more sequences, and perhaps no more ports.)
    if (error_.ok()) outgoing_.TakeBack();
    return status;
  }
  trace::probes::Posted(this, outgoing_.bytes(), degree);
  departure_.degree = static_cast<uint16_t>(degree);
  outgoing_.MarkPosted(channel_->written());
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
  for (SendPlace::Request& each : batch) {
    Submission& submission = Submission::Of(each);
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
    outgoing_.Add(&submission.port(), submission.port().stream(), wire::ItemKind::kData, submission.buffers(),
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
    outgoing_.Add(&submission.port(), submission.port().stream(), submission.kind(), item, 0, size);
    bytes += size;
    ++items;
  }
  submission.Take(bytes, items);
  if (items == 0) {
    StopIfTooLarge(submission);
    return 0;
  }
  submission.port().load_.Add(bytes);
  return 1;
}

// No room ever comes for an item that is larger than the memory that there is.
void Lane::StopIfTooLarge(Submission& submission) const {
  const size_t size = SizeOf(submission.items().front());
  const size_t largest = channel_->LargestItemNow();
  if (size <= largest) return;
  submission.Stop(submission.sent() > 0 ? absl::OkStatus()
                                        : absl::ResourceExhaustedError(absl::StrCat(
                                              "a message of ", size, " bytes; the kernel gives the connection no more ",
                                              "memory, and what it has carries ", largest)));
}

void Lane::FlushControl() {
  while (MaySend() && !control_.empty()) {
    if (!SendOne(nullptr, 0).ok()) return;  // tried again when there is room: MoreRoom, or a message
  }
}

constinit thread_local Departure last_departure;

absl::StatusOr<size_t> Lane::Send(Submission submission) {
  while (submission.left() > 0 && !submission.stopped()) {
    Lane* const lane = submission.port().lane_.load(std::memory_order_acquire);
    // One message at a time, then to the end of the queue: nobody waits for a long one to be over.
    const coalesce::Turn turn = lane->place_.Join(submission, [&] { submission.Copy(); });
    if (turn == coalesce::Turn::kLead) lane->Lead(submission);
  }
  if (!submission.error().ok()) return submission.error();
  if (submission.departure().led != 0) last_departure = submission.departure();
  return submission.sent();
}

void Lane::Lead(Submission& own) {
  size_t wanted = own.MessageBytes();
  Batch batch = place_.Gather(own, options_.combines ? kMaxBatch : 1, [&](const SendPlace::Request& next) {
    const size_t more = Submission::Of(next).MessageBytes();
    if (wanted + more > kMaxBatchBytes) return false;
    wanted += more;
    return true;
  });
  SendBatch(batch, wanted);
  LeavePlace(batch);
}

void Lane::SendBatch(Batch& batch, size_t wanted) {
  departure_.led = trace::Enabled() ? trace::Now() : 0;
  const bool sent = MaySend() && SendOne(&batch, wanted).ok();
  for (SendPlace::Request& each : batch) {
    Submission& submission = Submission::Of(each);
    if (submission.stopped() || !IsHere(submission.port())) continue;  // the latter tries again where it is now
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

void Lane::SendControl(const std::shared_ptr<Port>& port, wire::ItemKind kind, std::string payload) {
  AtLaneOf(*port, [&](Lane& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lane.place_) {
    lane.Queue({port, port->stream(), kind, std::move(payload)});
    lane.FlushControl();
  });
}

void Lane::ReturnWindow(const std::shared_ptr<Port>& port, uint64_t bytes) {
  AtLaneOf(*port, [&](Lane& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lane.place_) {
    const bool queued = std::exchange(port->window_to_return_, port->window_to_return_ + bytes) > 0;
    if (!queued) lane.Queue({port, port->stream(), wire::ItemKind::kWindow, {}});
    lane.FlushControl();
  });
}

void Lane::SendControl(wire::ItemKind kind, std::string payload, uint32_t stream) {
  Visit visit(this);
  Queue({nullptr, stream, kind, std::move(payload)});
  FlushControl();
}

absl::Status Lane::SendPulled(absl::string_view numbers) {
  Visit visit(this);
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
  Visit visit(this);
  Queue({nullptr, stream, kind, std::move(payload)});
}

void Lane::Queue(Control control) {
  if (!error_.ok()) return;
  if (control_.size() == kMostWaiting) {
    return FailHere(absl::UnavailableError(absl::StrCat("the peer has left ", kMostWaiting, " items unread")));
  }
  control_.push_back(std::move(control));
  Tell(kWaits);
}

void Lane::WaitForRoom(Port& port) {
  if (std::exchange(port.waits_for_room_, true)) return;
  room_waiters_.push_back(port.weak_from_this());
  Tell(kRoom | kWaits);
}

std::vector<std::shared_ptr<Port>> Lane::TakeRoomWaiters() {
  std::vector<std::shared_ptr<Port>> ports;
  if (!room_wanted()) return ports;
  Visit visit(this);
  LetGo();
  ports.swap(moved_);
  if (!room_waiters_.empty() && MaySend() && channel_->Room(channel::Use::kData) > 0) {
    for (const std::weak_ptr<Port>& waiter : std::exchange(room_waiters_, {})) {
      if (std::shared_ptr<Port> port = waiter.lock()) {
        if (IsHere(*port)) port->waits_for_room_ = false;
        ports.push_back(std::move(port));
      }
    }
  }
  if (room_waiters_.empty() && leaving_.empty()) TakeDue(kRoom);
  return ports;
}

absl::Status Lane::AnswerRenewal(bool granted) {
  Visit visit(this);
  return channel_->AnswerRenewal(granted);
}

void Lane::Activate() {
  Visit visit(this);
  if (error_.ok() && channel_ != nullptr) channel_->Activate();
}

bool Lane::usable() {
  Visit visit(this);
  return MaySend() && channel_->active() && stage_ == Stage::kOpen;
}

absl::Status Lane::AfterReceiving() {
  absl::Status status;
  upkeep_left_ = true;
  place_.Ask([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_) {
    status = Upkeep();
    upkeep_left_ = false;
  });
  return status;
}

absl::Status Lane::Upkeep() {
  if (!error_.ok() || channel_ == nullptr) return absl::OkStatus();
  absl::Status status = channel_->Heed();
  if (status.ok()) {
    FlushControl();
    status = error_.ok() ? channel_->Tend() : absl::OkStatus();
  }
  if (absl::IsDataLoss(status)) return status;
  if (!status.ok()) FailHere(status);
  return absl::OkStatus();
}

// By another thread than the poller, who hears of it.
void Lane::DoLeftUpkeep() {
  if (absl::Status status = Upkeep(); !status.ok()) breach_ = std::move(status);
  Tell(kUpkept);
}

absl::StatusOr<bool> Lane::TakeUpkept() {
  if (!TakeDue(kUpkept)) return false;
  Visit visit(this);
  if (!breach_.ok()) return std::exchange(breach_, absl::OkStatus());
  return true;
}

bool Lane::Settle() {
  if (std::exchange(upkeep_left_, false)) {
    Visit behind_who_does_it(this);
  }
  return IsDue(kUpkept);
}

bool Lane::Flush(bool tells) {
  Visit visit(this);
  const bool flushed = FlushHere();
  if (!flushed && !std::exchange(flush_awaited_, true)) Tell(kWaits | kFlush);
  if (flushed && tells) {
    flush_awaited_ = false;
    TakeDue(kFlush);
  }
  return flushed;
}

bool Lane::FlushHere() {
  if (!MaySend() || stage_ == Stage::kVacant) return true;
  FlushControl();
  if (!control_.empty()) return false;
  const absl::StatusOr<bool> reached = channel_->Reached();
  if (!reached.ok()) FailHere(reached.status());
  return !reached.ok() || *reached;
}

bool Lane::awaited() {
  Visit visit(this);
  return !room_waiters_.empty() || !moved_.empty() || !control_.empty() || flush_awaited_ ||
         (channel_ != nullptr && channel_->tending());
}

void Lane::FailHere(const absl::Status& why) {
  if (stage_ == Stage::kVacant) return channel_->Close();
  error_ = absl::UnavailableError(why.message());
  control_.clear();
  channel_->Close();
  group_.Wake();  // the poller learns it, and tells the ports
}

}  // namespace skein::link
