// The sending half: items of streams and of the link itself, as many as fit, in one message.
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/link/send_queue.h"
#include "core/trace/probes.h"
#include "core/trace/tracer.h"
#include "core/wire/bytes.h"

namespace skein::link {
namespace {

using Batch = SendPlace::Batch;

constexpr size_t kMaxControlItems = 64;  // per message
// Of a batch. A leader does no more than this for others.
constexpr size_t kMaxBatch = 32;  // submissions
constexpr size_t kMaxBatchBytes = 32 << 10;
constexpr size_t kWorthSharing = 1024;  // bytes that a follower copies for its leader; for fewer, telling it costs more

ConstBytes AsBytes(const std::string& text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

// The items of a batch are a message's last. `what` is done for those of which parts may go.
template <class What>
void ForTaken(Batch& batch, absl::Span<channel::OutItem> items, What what) {
  size_t item = items.size();
  for (SendPlace::Request& each : batch) item -= Submission::Of(each).taken_items();
  for (SendPlace::Request& each : batch) {
    Submission& submission = Submission::Of(each);
    if (submission.taken() > 0 && !submission.whole()) what(submission, items[item]);
    item += submission.taken_items();
  }
}

// Followers copy by themselves what is worth telling them of.
void LeaveCopying(Batch& batch, absl::Span<channel::OutItem> items) {
  const Submission& own = Submission::Of(*batch.begin());
  ForTaken(batch, items, [&](const Submission& submission, channel::OutItem& item) {
    item.leaves_copying = &submission != &own && submission.taken() >= kWorthSharing;
  });
}

void ShareCopying(Batch& batch, absl::Span<channel::OutItem> items) {
  ForTaken(batch, items, [](Submission& submission, const channel::OutItem& item) {
    if (!item.leaves_copying) return;
    submission.set_destination(item.destination);
    SendPlace::Queue::Offer(submission);
  });
  ForTaken(batch, items, [](Submission& submission, const channel::OutItem& item) {
    if (item.leaves_copying && !SendPlace::Queue::Collect(submission)) submission.Copy();
  });
}

// No space ever comes for an item that is larger than the memory that there is.
void StopIfTooLarge(Submission& submission, size_t largest) {
  const size_t size = SizeOf(submission.items().front());
  if (size <= largest) return;
  submission.Stop(submission.sent() > 0 ? absl::OkStatus()
                                        : absl::ResourceExhaustedError(absl::StrCat(
                                              "a message of ", size, " bytes; the kernel gives the connection no more ",
                                              "memory, and what it has carries ", largest)));
}

// As many of its items as fit into `space`.
void AddWhole(Submission& submission, size_t space, Outgoing& outgoing) {
  size_t bytes = 0;
  size_t items = 0;
  for (const Gathered& item : submission.items()) {
    const size_t size = SizeOf(item);
    if (outgoing.bytes() + wire::ItemBytes(size) > space) break;
    outgoing.Add(&submission.port(), submission.port().stream(), submission.kind(), item, 0, size);
    bytes += size;
    ++items;
  }
  submission.Take(bytes, items);
}

// As much of it as fits into `space`.
void AddPart(Submission& submission, size_t space, Outgoing& outgoing) {
  if (space <= outgoing.bytes() + sizeof(wire::ItemHeader)) return;
  const size_t most = (space - outgoing.bytes() - sizeof(wire::ItemHeader)) & ~size_t{7};
  submission.Take(std::min(submission.left(), most));
  if (submission.taken() == 0) return;
  outgoing.Add(&submission.port(), submission.port().stream(), wire::ItemKind::kData, submission.buffers(),
               submission.offset(), submission.taken());
}

// Gives the number of submissions of which anything was taken.
size_t AddData(Batch& batch, size_t space, const channel::Channel& channel, Outgoing& outgoing) {
  size_t degree = 0;
  for (SendPlace::Request& each : batch) {
    Submission& submission = Submission::Of(each);
    submission.Take(0);
    if (submission.whole()) {
      AddWhole(submission, space, outgoing);
      if (submission.taken_items() == 0) StopIfTooLarge(submission, channel.LargestItemNow());
    } else {
      AddPart(submission, space, outgoing);
    }
    degree += submission.taken_items() > 0 ? 1 : 0;
  }
  return degree;
}

}  // namespace

constinit thread_local Departure last_departure;

absl::StatusOr<size_t> SendQueue::Send(Submission submission) {
  while (submission.left() > 0 && !submission.stopped()) {
    // One message at a time, then to the end of the queue: nobody waits for a long one to be over.
    const coalesce::Turn turn = place_.Join(submission, [&] { submission.Copy(); });
    if (turn == coalesce::Turn::kLead) Lead(submission);
  }
  if (!submission.error().ok()) return submission.error();
  if (submission.departure().led != 0) last_departure = submission.departure();
  return submission.sent();
}

void SendQueue::Lead(Submission& own) {
  size_t wanted = own.MessageBytes();
  Batch batch = place_.Gather(own, combines_ ? kMaxBatch : 1, [&](const SendPlace::Request& next) {
    const size_t more = Submission::Of(next).MessageBytes();
    if (wanted + more > kMaxBatchBytes) return false;
    wanted += more;
    return true;
  });
  SendBatch(batch, wanted);
  LeavePlace(batch);
}

void SendQueue::SendBatch(Batch& batch, size_t wanted) {
  departure_.led = trace::Enabled() ? trace::Now() : 0;
  const bool sent = MaySend() && SendOne(&batch, wanted).ok();
  for (SendPlace::Request& each : batch) {
    Submission& submission = Submission::Of(each);
    if (submission.stopped()) continue;
    if (sent) {
      submission.Sent();
      if (departure_.led != 0) [[unlikely]]
        submission.set_departure(departure_);
      continue;
    }
    submission.Stop(error_);
    if (error_.ok()) WaitForSpace(submission.port());
  }
}

// One message: control that waits, then as much of each submission as there is space for. RESOURCE_EXHAUSTED when there
// is none for anything. `wanted`: what the batch would take. Most messages fit; the leader then need not ask how much
// more would.
absl::Status SendQueue::SendOne(Batch* batch, size_t wanted) {
  const channel::Use use = batch == nullptr ? channel::Use::kControl : channel::Use::kData;
  const bool fits = control_.empty() && channel_->Fits(wanted, use);
  const size_t space = fits ? wanted : channel_->Space(use);
  outgoing_.Clear();
  const bool all_control = control_.empty() || AddControl(space);
  const size_t controls = outgoing_.size();
  // Data must not overtake control of its own stream.
  const size_t degree = batch != nullptr && all_control ? AddData(*batch, space, *channel_, outgoing_) : 0;
  if (outgoing_.empty()) return absl::ResourceExhaustedError("the peer's queue is full");
  if (absl::Status status = Write(use, batch, degree); !status.ok()) {
    // Not sent: sequences have no gaps. (When all is over, there are no more sequences, and perhaps no more ports.)
    if (error_.ok()) outgoing_.TakeBack();
    return status;
  }
  trace::probes::Posted(channel_.get(), outgoing_.bytes(), degree);
  departure_.degree = static_cast<uint16_t>(degree);
  coalesced_ += degree > 1 ? 1 : 0;
  for (size_t i = 0; i < controls; ++i) {
    if (control_.front().kind == wire::ItemKind::kWindow) control_.front().port->window_to_return_ = 0;
    control_.pop_front();
  }
  return absl::OkStatus();
}

// False: not all of it fits.
bool SendQueue::AddControl(size_t space) {
  for (Control& control : control_) {
    if (control.kind == wire::ItemKind::kWindow) {
      control.payload.clear();
      wire::Put(control.payload, control.port->window_to_return_);
    }
    if (outgoing_.size() == kMaxControlItems) return false;
    if (outgoing_.bytes() + wire::ItemBytes(control.payload.size()) > space) return false;
    control.bytes = AsBytes(control.payload);
    outgoing_.Add(control.port.get(), control.stream, control.kind, {&control.bytes, 1}, 0, control.payload.size());
  }
  return true;
}

// What outgoing_ has.
absl::Status SendQueue::Write(channel::Use use, Batch* batch, size_t degree) {
  const absl::Span<channel::OutItem> items = outgoing_.items();
  if (degree > 1) LeaveCopying(*batch, items);
  absl::Status status = channel_->Lay(items, use);
  if (status.ok() && degree > 1) ShareCopying(*batch, items);
  if (status.ok()) {
    uint64_t stage_time = 0;
    if (trace::Enabled() || group_.suppression().peer_traces.load(std::memory_order_relaxed)) [[unlikely]] {
      departure_.posted = trace::Now();
      stage_time = wire::StageTime(departure_.posted, trace::Enabled());
    }
    status = channel_->Publish(stage_time);
  }
  if (!status.ok() && !absl::IsResourceExhausted(status)) FailHere(status);
  return status;
}

}  // namespace skein::link
