#include "core/durable/flush/flush_sender.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/durable/flush/level.h"

namespace skein::durable {
namespace {

using fabric::Opcode;

// Above a request's id: what it is, and below, a sequence.
constexpr uint64_t kKind = uint64_t{3} << 62;
constexpr uint64_t kSent = 0;
constexpr uint64_t kFlushed = uint64_t{1} << 62;
constexpr uint64_t kProbe = uint64_t{2} << 62;

// READs land here, behind the slots: nobody looks at what they bring.
constexpr size_t kLandingBytes = 64;

// So that there is one for each reply while as many more are still to be posted again, all with one doorbell.
constexpr uint32_t kReceivesASlot = 2;

// And after so many, the peer.
constexpr uint32_t kPollsToProbe = 4096;

uint64_t LoadWord(std::byte* at) {
  // Pairs with the receiver's WRITE of this word, which the fabric makes visible as a whole (release).
  return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(at)).load(std::memory_order_acquire);
}

}  // namespace

FlushSender::~FlushSender() = default;

absl::StatusOr<std::unique_ptr<FlushSender>> FlushSender::Create(fabric::Device& device,
                                                                 const FlushSenderOptions& options) {
  if (options.reply_bytes > kMostReplyBytes || options.slots < 2 || options.slots > kMostSlots) {
    return absl::InvalidArgumentError(absl::StrCat(options.slots, " slots with replies of ", options.reply_bytes,
                                                   " bytes: 2 to ", kMostSlots, ", of at most ", kMostReplyBytes));
  }
  auto sender = absl::WrapUnique(new FlushSender(device, options));
  if (absl::Status prepared = sender->Prepare(); !prepared.ok()) return prepared;
  return sender;
}

absl::Status FlushSender::Prepare() {
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> feedback =
      device_.Allocate(kFeedbackBytes + options_.slots * ReplyStride(options_.reply_bytes), fabric::kRemoteWrite);
  if (!feedback.ok()) return feedback.status();
  feedback_ = *std::move(feedback);
  // Of each slot an entry and a reply, and READs.
  const uint32_t sends = 2 * options_.slots + 4;
  absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> queue =
      device_.CreateCompletionQueue(sends + kReceivesASlot * options_.slots);
  if (!queue.ok()) return queue.status();
  queue_ = *std::move(queue);
  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> queue_pair =
      device_.CreateQueuePair({.send_queue = queue_.get(),
                               .receive_queue = queue_.get(),
                               .max_send_requests = sends,
                               .max_receive_requests = kReceivesASlot * options_.slots,
                               .flushes = OffersFlushes()});
  if (!queue_pair.ok()) return queue_pair.status();
  queue_pair_ = *std::move(queue_pair);
  return absl::OkStatus();
}

absl::StatusOr<std::string> FlushSender::Offer() {
  absl::StatusOr<std::string> offer = queue_pair_->Offer();
  if (!offer.ok()) return offer;
  return EncodeOffer({.mode = options_.mode,
                      .wanted = options_.wanted,
                      .slots = options_.slots,
                      .reply_bytes = options_.reply_bytes,
                      .flush = device_.capabilities().flush,
                      .flush_persistent = device_.capabilities().flush_persistent,
                      .feedback = feedback_->remote(),
                      .queue_pair = *std::move(offer)});
}

absl::Status FlushSender::Complete(absl::string_view bytes) {
  const absl::StatusOr<FlushAnswer> answer = DecodeAnswer(bytes);
  if (!answer.ok()) return answer.status();
  if (answer->shape.slots != options_.slots) return absl::InvalidArgumentError("an answer to another offer");
  // The receiver should have refused: it is not asked to be honest, only consistent.
  if (options_.wanted && !Gives(answer->level, *options_.wanted)) {
    return absl::FailedPreconditionError(absl::StrCat("the receiver achieves ", PersistenceName(answer->level),
                                                      ", not ", PersistenceName(*options_.wanted)));
  }
  if (answer->verb != FlushVerb::kRead && !OffersFlushes()) {
    return absl::InvalidArgumentError("an answer that asks for FLUSHes, which were not offered");
  }
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> staging =
      device_.Allocate(SlotsBytes(answer->shape) + kLandingBytes, fabric::kLocalOnly);
  if (!staging.ok()) return staging.status();
  staging_ = *std::move(staging);
  shape_ = answer->shape;
  key_ = answer->key;
  slots_ = answer->slots;
  level_ = answer->level;
  verb_ = answer->verb;
  head_ = answer->head;
  next_ = answer->next;
  posted_ = acknowledged_ = next_ - 1;
  staged_.resize(shape_.slots);
  finished_.assign(shape_.slots, false);
  if (absl::Status connected = queue_pair_->Complete(answer->queue_pair); !connected.ok()) return connected;
  return PostReceives(kReceivesASlot * shape_.slots);
}

absl::Status FlushSender::PostReceives(uint32_t count) {
  if (count == 0) return absl::OkStatus();
  return queue_pair_->PostReceive(std::vector<fabric::ReceiveRequest>(count));
}

absl::StatusOr<uint64_t> FlushSender::Send(absl::string_view payload) {
  if (!failure_.ok()) return failure_;
  if (payload.size() > largest_payload()) {
    return absl::InvalidArgumentError(absl::StrCat("a request of ", payload.size(),
                                                   " bytes, where the receiver's log takes ", largest_payload(),
                                                   "; give its slots more bytes"));
  }
  if (space() == 0) {
    return absl::ResourceExhaustedError(absl::StrCat("all ", shape_.slots, " slots of the receiver's log are taken"));
  }
  const absl::Span<std::byte> slot =
      staging_->bytes().subspan(SlotOf(shape_, next_) * shape_.slot_bytes, shape_.slot_bytes);
  // What was only visible may be missing after a crash, and proves nothing.
  const bool kept = level_ == Persistence::kPersistent || level_ == Persistence::kEmulated;
  const absl::Span<std::byte> taken =
      MakeFlushEntry(slot, place(), key_, options_.client, next_, kept ? acknowledged_ : 0, payload);
  staged_[SlotOf(shape_, next_)] = {.offset = static_cast<uint32_t>(taken.data() - slot.data()),
                                    .bytes = static_cast<uint32_t>(taken.size())};
  return next_++;
}

fabric::RemoteAddress FlushSender::RemoteOf(uint64_t sequence, uint64_t offset) const {
  return After(slots_, SlotOf(shape_, sequence) * shape_.slot_bytes + offset);
}

// Of the last byte of an entry: what a SEND has brought lies where the receiver's receives are posted, slot by slot.
void FlushSender::AddRead(RequestBatch& batch, uint64_t id, uint64_t sequence) const {
  const Staged& staged = staged_[SlotOf(shape_, sequence)];
  batch
      .Add(Opcode::kRead, id, SegmentOf(*staging_, SlotsBytes(shape_), 1),
           RemoteOf(sequence, std::max(staged.offset + staged.bytes, 1u) - 1))
      .signaled = true;
}

bool FlushSender::OffersFlushes() const {
  const fabric::DeviceCapabilities device = device_.capabilities();
  return FlushedBySender(options_.mode) && (device.flush || device.flush_persistent);
}

// Of what was posted since the last: a row of slots, or two where the ring begins anew in between.
void FlushSender::AddFlush(RequestBatch& batch, uint64_t first, uint64_t last) const {
  const uint64_t lap = last - SlotOf(shape_, last);
  if (first < lap) {
    AddFlushOfRow(batch, first, lap - 1);
    first = lap;
  }
  AddFlushOfRow(batch, first, last);
  batch.back().id = kFlushed | last;
  batch.back().signaled = true;
}

// The unused ends of the slots between them come along: one request for all costs less than one for each.
void FlushSender::AddFlushOfRow(RequestBatch& batch, uint64_t first, uint64_t last) const {
  const Staged& ends = staged_[SlotOf(shape_, last)];
  const fabric::RemoteAddress from = RemoteOf(first, staged_[SlotOf(shape_, first)].offset);
  fabric::SendRequest& flush = batch.Add(Opcode::kFlush, kSent, {}, from);
  flush.local = {};
  flush.operand = RemoteOf(last, ends.offset + ends.bytes).address - from.address;
  flush.placement = verb_ == FlushVerb::kFlushPersistent ? fabric::Placement::kPersistent : fabric::Placement::kVisible;
}

absl::Status FlushSender::Flush() {
  if (!failure_.ok() || posted_ + 1 == next_) return failure_;
  const uint64_t last = next_ - 1;
  RequestBatch batch(last - posted_ + 2);  // and at most two FLUSHes
  for (uint64_t sequence = posted_ + 1; sequence <= last; ++sequence) {
    const uint64_t slot = SlotOf(shape_, sequence);
    const Staged& staged = staged_[slot];
    const fabric::Segment local = SegmentOf(*staging_, slot * shape_.slot_bytes + staged.offset, staged.bytes);
    if (SentByWrite(options_.mode)) {
      batch.Add(Opcode::kWrite, kSent, local, RemoteOf(sequence, staged.offset));
    } else {
      batch.Add(Opcode::kSend, kSent, local);
    }
  }
  if (FlushedBySender(options_.mode)) {
    verb_ == FlushVerb::kRead ? AddRead(batch, kFlushed | last, last) : AddFlush(batch, posted_ + 1, last);
  } else {
    batch.back().signaled = true;
  }
  const absl::Status posted = batch.PostOn(*queue_pair_);
  flush_again_ = absl::IsResourceExhausted(posted);
  if (posted.ok()) {
    posted_ = last;
  } else if (!absl::IsResourceExhausted(posted)) {
    Fail(posted.message());
  }
  return failure_;
}

absl::Status FlushSender::Poll(ReplyHandler on_reply) {
  if (!failure_.ok()) return failure_;
  const uint32_t completions = TakeCompletions(on_reply);
  const bool news = TakeFeedback();
  if (failure_.ok() && receives_taken_ >= shape_.slots) {
    if (absl::Status posted = PostReceives(std::exchange(receives_taken_, 0)); !posted.ok()) Fail(posted.message());
  }
  if (flush_again_) Flush().IgnoreError();  // it is in failure_
  idle_polls_ = completions > 0 || news || head_ == posted_ + 1 ? 0 : idle_polls_ + 1;
  LookAfterPeer();
  return failure_;
}

uint32_t FlushSender::TakeCompletions(ReplyHandler on_reply) {
  std::array<fabric::Completion, 32> completions;
  uint32_t taken = 0;
  for (size_t found = completions.size(); found == completions.size() && failure_.ok();) {
    found = queue_->Poll(absl::MakeSpan(completions));
    for (size_t i = 0; i < found && failure_.ok(); ++i, ++taken) TakeCompletion(completions[i], on_reply);
  }
  return taken;
}

void FlushSender::TakeCompletion(const fabric::Completion& completion, ReplyHandler on_reply) {
  if (completion.status != fabric::CompletionStatus::kSuccess) {
    return Fail(absl::StrCat(OpcodeName(completion.opcode), ": ", CompletionStatusName(completion.status)));
  }
  if (completion.opcode == Opcode::kReceiveWithImmediate) return TakeReply(completion, on_reply);
  if (completion.opcode == Opcode::kReceive) return Fail("the receiver sent what is no reply");
  if ((completion.id & kKind) == kFlushed) acknowledged_ = std::max(acknowledged_, completion.id & ~kKind);
  if ((completion.id & kKind) == kProbe) probing_ = false;
}

void FlushSender::TakeReply(const fabric::Completion& completion, ReplyHandler on_reply) {
  ++receives_taken_;
  const uint32_t distance = completion.immediate - static_cast<uint32_t>(head_);
  const uint64_t sequence = head_ + distance;
  const uint64_t slot = SlotOf(shape_, sequence);
  if (sequence > posted_ || finished_[slot] || completion.bytes > options_.reply_bytes) {
    return Fail("the receiver replied to what was not asked, or at too great length");
  }
  // A copy: the receiver could write there again while it is read.
  const std::byte* const from = feedback_->bytes().data() + kFeedbackBytes + slot * ReplyStride(options_.reply_bytes);
  reply_.assign(reinterpret_cast<const char*>(from), completion.bytes);
  finished_[slot] = true;
  while (head_ <= posted_ && finished_[SlotOf(shape_, head_)]) finished_[SlotOf(shape_, head_++)] = false;
  on_reply(sequence, reply_);
}

bool FlushSender::TakeFeedback() {
  const uint64_t word = LoadWord(feedback_->bytes().data());
  const uint64_t persisted = word & ~kSlowDown;
  slow_down_ = (word & kSlowDown) != 0;
  if (FlushedBySender(options_.mode) || persisted <= acknowledged_) return false;
  if (persisted > posted_) {
    Fail("the receiver acknowledged what was never sent");
    return false;
  }
  acknowledged_ = persisted;
  return true;
}

// Not every fabric tells that a peer is gone before something is asked of it.
void FlushSender::LookAfterPeer() {
  if (!failure_.ok() || idle_polls_ == 0) return;
  if (idle_polls_ % kPollsToRefresh == 0 && queue_pair_->RefreshState() == fabric::QueuePairState::kError) {
    return Fail(queue_pair_->error().message());
  }
  if (idle_polls_ % kPollsToProbe != 0 || probing_) return;
  RequestBatch batch(1);
  AddRead(batch, kProbe, posted_);
  probing_ = batch.PostOn(*queue_pair_).ok();
}

void FlushSender::Fail(absl::string_view cause) {
  if (!failure_.ok()) return;
  failure_ = absl::UnavailableError(
      absl::StrCat("the durable connection is gone (", cause, "); connect again, which tells what to send again"));
  queue_pair_->Close();
}

}  // namespace skein::durable
