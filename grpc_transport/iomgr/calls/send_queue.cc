#include "grpc_transport/iomgr/calls/send_queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace skein::grpc_transport {
namespace {

using grpc_core::Slice;

constexpr char kReason[] = "skein send";

Slice HeaderSlice(const FrameHeader& header) {
  return Slice(grpc_slice_from_copied_buffer(reinterpret_cast<const char*>(&header), sizeof(header)));
}

constexpr int64_t kMostWindow = UINT32_MAX;

size_t MessageBytes(const Batch& batch) { return batch.message == nullptr ? 0 : batch.message->length; }

// References: the slices stay gRPC's as well.
void AppendMessage(const Batch& batch, grpc_core::SliceBuffer& to) {
  for (size_t i = 0; batch.message != nullptr && i < batch.message->count; ++i) {
    to.AppendIndexed(Slice(grpc_core::CSliceRef(batch.message->slices[i])));
  }
}

}  // namespace

SendQueue::~SendQueue() {
  for (Outgoing* call : ready_) grpc_stream_unref(call->refs_, kReason);
}

SendQueue::Added SendQueue::Add(Outgoing& call, Batch& batch, grpc_closure* done) {
  if (call.dropped_) return Added::kDropped;
  const size_t message = MessageBytes(batch);
  const bool at_once = call.started() && (call.waiting_ == nullptr || call.waiting_->empty()) && !batch.may_wait &&
                       message <= kMaxFragmentBytes && HasSpace(call, batch) && queue_.Length() < kQueueBytes;
  if (!at_once) {
    Wait(call, batch, done);
    return Added::kLater;
  }
  FrameHeader header;
  header.call = call.call_;
  header.kind = FrameKind::kCall;
  header.flags = batch.flags;
  header.initial = batch.initial;
  header.trailing = batch.trailing;
  header.number = static_cast<uint32_t>(message);
  header.length = static_cast<uint32_t>(batch.initial + batch.trailing + message);
  std::memcpy(batch.head.data(), &header, sizeof(header));
  queue_.AppendIndexed(Slice(batch.head.ToSlice()));
  AppendMessage(batch, queue_);
  call.window_ -= WindowTaken(header);
  call.announced_ = true;
  call.ended_ = (batch.flags & kTrailing) != 0;
  Run(done, absl::OkStatus());
  return Added::kAll;
}

void SendQueue::Wait(Outgoing& call, Batch& batch, grpc_closure* done) {
  if (call.waiting_ == nullptr) call.waiting_ = new std::deque<Outgoing::Waiting>;
  Outgoing::Waiting& waiting = call.waiting_->emplace_back();
  waiting.flags = batch.flags;
  const char* const metadata = batch.head.data() + kFrameHeaderBytes;
  waiting.initial = Slice::FromCopiedBuffer(metadata, batch.initial);
  waiting.trailing = Slice::FromCopiedBuffer(metadata + batch.initial, batch.trailing);
  AppendMessage(batch, waiting.message);
  waiting.message_bytes = static_cast<uint32_t>(MessageBytes(batch));
  if (batch.on_end != nullptr) call.on_end_ = batch.on_end;
  // Initial metadata alone is done: it is little. So is what gRPC wants kept until more follows, while that is little;
  // but no message of a call without a number: gRPC may have to retry such a call (Call::Fail).
  const bool goes = !batch.may_wait || !call.started() || WaitingBytes(call) > kMaxFragmentBytes;
  const bool is_done = (batch.flags & (kMessage | kTrailing)) == 0 || !goes;
  waiting.done = is_done ? nullptr : done;
  if (is_done) Run(done, absl::OkStatus());
  if (!call.started()) return;
  Announce(call);
  if (goes && CanGo(call)) List(call);
}

size_t SendQueue::WaitingBytes(const Outgoing& call) {
  size_t bytes = 0;
  for (const Outgoing::Waiting& batch : *call.waiting_) bytes += kMessageCost + batch.message.Length();
  return bytes;
}

void SendQueue::Start(Outgoing& call, uint32_t number) {
  call.call_ = number;
  Announce(call);
  if (CanGo(call)) List(call);
}

// However long the queue is: the metadata would not be less while it waits.
void SendQueue::Announce(Outgoing& call) {
  if (closed_ || call.announced_ || call.waiting_ == nullptr || call.waiting_->empty()) return;
  Outgoing::Waiting& first = call.waiting_->front();
  FrameHeader header;
  header.call = call.call_;
  header.kind = FrameKind::kCall;
  header.flags = kInitial;
  header.initial = header.length = static_cast<uint32_t>(first.initial.size());
  queue_.AppendIndexed(HeaderSlice(header));
  if (header.initial > 0) queue_.AppendIndexed(std::exchange(first.initial, Slice()));
  call.announced_ = true;
  first.flags &= static_cast<uint8_t>(~kInitial);
  if (first.flags == 0) call.waiting_->pop_front();  // which was done when it began to wait
}

bool SendQueue::HasSpace(const Outgoing& call, const Batch& batch) {
  return batch.message == nullptr || kMessageCost + static_cast<int64_t>(batch.message->length) <= call.window_;
}

bool SendQueue::CanGo(const Outgoing& call) {
  if (call.waiting_ == nullptr || call.waiting_->empty()) return false;
  const Outgoing::Waiting& first = call.waiting_->front();
  if (!first.begun) return (first.flags & kMessage) == 0 || call.window_ >= kMessageCost;
  return call.window_ > 0 || first.message.Length() == 0;
}

void SendQueue::List(Outgoing& call) {
  if (closed_ || std::exchange(call.listed_, true)) return;
  grpc_stream_ref(call.refs_, kReason);
  ready_.push_back(&call);
}

bool SendQueue::Grant(Outgoing& call, uint32_t bytes) {
  if (call.window_ + bytes > kMostWindow) return false;
  call.window_ += bytes;
  if (CanGo(call)) List(call);
  return true;
}

SendQueue::PeerAwaits SendQueue::Drop(Outgoing& call, const grpc_error_handle& why) {
  call.dropped_ = true;
  bool cut = false;
  if (call.waiting_ != nullptr && !call.waiting_->empty()) {
    cut = call.waiting_->front().begun && call.waiting_->front().message.Length() > 0;
    for (Outgoing::Waiting& batch : *call.waiting_) Run(batch.done, why);
    call.waiting_->clear();
    Run(call.on_end_, why);
  }
  if (!call.announced_) return PeerAwaits::kNothing;
  return cut ? PeerAwaits::kEnd : PeerAwaits::kStatus;
}

void SendQueue::Run(grpc_closure*& closure, const grpc_error_handle& error) {
  if (closure != nullptr) grpc_core::ExecCtx::Run(DEBUG_LOCATION, std::exchange(closure, nullptr), error);
}

void SendQueue::AddFrame(const FrameHeader& header, absl::string_view body) {
  if (closed_) return;
  queue_.AppendIndexed(HeaderSlice(header));
  if (!body.empty()) queue_.AppendIndexed(Slice::FromCopiedBuffer(body.data(), body.size()));
}

void SendQueue::AddHttp2(grpc_slice_buffer& bytes) {
  FrameHeader header;
  header.length = static_cast<uint32_t>(bytes.length);
  queue_.AppendIndexed(HeaderSlice(header));
  grpc_slice_buffer_move_into(&bytes, queue_.c_slice_buffer());
}

void SendQueue::Take(grpc_core::SliceBuffer& to) {
  while (queue_.Length() < kWriteBytes && !ready_.empty()) {
    Outgoing* const call = ready_.front();
    ready_.pop_front();
    call->listed_ = false;
    if (CanGo(*call)) SendOne(*call);
    if (CanGo(*call)) List(*call);
    grpc_stream_unref(call->refs_, kReason);
  }
  to.Swap(&queue_);
}

// One frame of the call's first batch.
void SendQueue::SendOne(Outgoing& call) {
  Outgoing::Waiting& batch = call.waiting_->front();
  const size_t left = batch.message.Length();
  const int64_t window = call.window_ - (!batch.begun && (batch.flags & kMessage) != 0 ? kMessageCost : 0);
  const size_t fragment = std::min({left, kMaxFragmentBytes, static_cast<size_t>(std::max<int64_t>(window, 0))});
  const bool whole = fragment == left;
  FrameHeader header;
  header.call = call.call_;
  header.kind = batch.begun && left > 0 ? FrameKind::kMore : FrameKind::kCall;
  if (header.kind == FrameKind::kCall) {
    header.flags = batch.begun ? kTrailing : batch.flags;
    if (!whole) header.flags &= static_cast<uint8_t>(~kTrailing);
    header.initial = batch.begun ? 0 : static_cast<uint32_t>(batch.initial.size());
    header.trailing = whole ? static_cast<uint32_t>(batch.trailing.size()) : 0;
    header.number = batch.begun ? 0 : batch.message_bytes;
  }
  header.length = static_cast<uint32_t>(header.initial + header.trailing + fragment);
  queue_.AppendIndexed(HeaderSlice(header));
  if (header.initial > 0) queue_.AppendIndexed(batch.initial.Ref());
  if (header.trailing > 0) queue_.AppendIndexed(batch.trailing.Ref());
  grpc_slice_buffer_move_first(batch.message.c_slice_buffer(), fragment, queue_.c_slice_buffer());
  call.window_ -= WindowTaken(header);
  // The end of a long message and what follows it are two frames.
  const bool trailing_left = header.kind == FrameKind::kMore && (batch.flags & kTrailing) != 0;
  batch.begun = true;
  if (!whole || trailing_left) return;
  // The end first: gRPC gives up a call that is done and has not ended.
  if ((batch.flags & kTrailing) != 0) {
    call.ended_ = true;
    Run(call.on_end_, absl::OkStatus());
  }
  Run(batch.done, absl::OkStatus());
  call.waiting_->pop_front();
}

}  // namespace skein::grpc_transport
