#include "core/durable/flush/flush_receiver.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace skein::durable {
namespace {

using fabric::Opcode;

// Ids of requests: which, and below, a sequence.
constexpr uint64_t kFeedback = uint64_t{1} << 62;

}  // namespace

FlushReceiver::~FlushReceiver() = default;

absl::Status FlushReceiver::Poll(Handler on_request) {
  for (FlushEntry& entry : std::exchange(recovered_, {})) on_request(std::move(entry));
  std::vector<FlushEntry> entries;
  if (connected()) {
    TakeCompletions();
    entries = TakeEntries();
    if (absl::Status acknowledged = Acknowledge(entries); !acknowledged.ok()) return acknowledged;
  }
  for (FlushEntry& entry : entries) on_request(std::move(entry));
  if (absl::Status finished = FinishPending(); !finished.ok()) return finished;
  if (connected()) {
    PostReceives();
    PostReplies();
    LookAfterPeer();
  }
  return connection_;
}

void FlushReceiver::TakeCompletions() {
  std::array<fabric::Completion, 32> completions;
  for (size_t found = completions.size(); found == completions.size() && connection_.ok();) {
    found = queue_->Poll(absl::MakeSpan(completions));
    for (const fabric::Completion& completion : absl::MakeSpan(completions).subspan(0, found)) {
      if (completion.status != fabric::CompletionStatus::kSuccess) {
        return Fail(absl::StrCat(OpcodeName(completion.opcode), ": ", CompletionStatusName(completion.status)));
      }
      if (completion.opcode == Opcode::kReceive) arrived_ = completion.id;
      if (completion.id == kFeedback) ++feedbacks_done_;
    }
    if (found > 0) idle_polls_ = 0;
  }
}

std::atomic_ref<uint64_t> FlushReceiver::OperatorWord(uint64_t sequence) {
  std::byte* const slot = slots_->bytes().data() + SlotOf(options_.shape, sequence) * options_.shape.slot_bytes;
  return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(slot + OperatorWordOffset(options_.shape.slot_bytes)));
}

bool FlushReceiver::HasCome(uint64_t sequence) {
  if (sequence >= ring_->head() + options_.shape.slots) return false;
  if (!SentByWrite(options_.mode)) return sequence <= arrived_;
  // Pairs with the last word of the sender's WRITE, which the fabric makes visible (release) after all that precedes
  // it.
  return WordIsOf(OperatorWord(sequence).load(std::memory_order_acquire), sequence);
}

// What has come and was never finished; the ring's next is the first that has not come when they are acknowledged.
std::vector<FlushEntry> FlushReceiver::TakeEntries() {
  std::vector<FlushEntry> entries;
  uint64_t sequence = ring_->next();
  for (; sequence < ring_->next() + options_.batch && connection_.ok() && HasCome(sequence); ++sequence) {
    const absl::Span<const std::byte> slot = slots_->bytes().subspan(
        SlotOf(options_.shape, sequence) * options_.shape.slot_bytes, options_.shape.slot_bytes);
    std::optional<FlushEntry> entry = TakeFlushEntry(slot, place(), ring_->key(), sequence);
    if (!entry) {
      Fail("the sender's entry has a wrong header or checksum");
      break;
    }
    // A crash could keep it and take those before it: the next opening would find the ring damaged.
    if (!FlushedBySender(options_.mode) && entry->settled >= ring_->next()) {
      Fail("the sender claims an acknowledgement that it was not given");
      break;
    }
    if (ring_->IsFinished(sequence)) {
      // Executed in an earlier life, in which one before it was lost: its outcome is gone.
      to_send_.push_back({.sequence = sequence});
      continue;
    }
    handed_over_[SlotOf(options_.shape, sequence)] = true;
    entries.push_back(*std::move(entry));
  }
  come_ = sequence;
  return entries;
}

absl::Status FlushReceiver::Acknowledge(absl::Span<const FlushEntry> entries) {
  if (FlushedBySender(options_.mode)) {
    ring_->Take(come_);
  } else if (come_ > ring_->next()) {
    const absl::Span<const FlushEntry> copies = memory_.in_place ? absl::Span<const FlushEntry>() : entries;
    if (absl::Status persisted = ring_->Persist(come_, copies); !persisted.ok()) return persisted;
  }
  PostFeedback();
  return absl::OkStatus();
}

void FlushReceiver::PostFeedback() {
  const uint32_t limit = options_.slow_down_above > 0 ? options_.slow_down_above : options_.shape.slots / 2;
  const uint64_t persisted = FlushedBySender(options_.mode) ? 0 : ring_->next() - 1;
  const uint64_t word = persisted | (unfinished() > limit ? kSlowDown : 0);
  if (word == feedback_ || !connected() || feedbacks_sent_ - feedbacks_done_ == kFeedbackWords) return;
  const uint64_t place = feedbacks_sent_ % kFeedbackWords * sizeof(word);
  std::memcpy(replies_->bytes().data() + place, &word, sizeof(word));
  RequestBatch batch(1);
  batch.Add(Opcode::kWrite, kFeedback, SegmentOf(*replies_, place, sizeof(word)), offer_.feedback).signaled = true;
  const absl::Status posted = batch.PostOn(*queue_pair_);
  if (posted.ok()) {
    feedback_ = word;
    ++feedbacks_sent_;
  } else if (!absl::IsResourceExhausted(posted)) {
    Fail(posted.message());
  }
}

absl::Status FlushReceiver::Finish(uint64_t sequence, absl::string_view reply) {
  const uint64_t slot = SlotOf(options_.shape, sequence);
  if (sequence < ring_->head() || sequence >= std::max(ring_->next(), come_) || !handed_over_[slot]) {
    return absl::NotFoundError(absl::StrCat("request ", sequence, " is not there to be finished"));
  }
  if (connected() && reply.size() > offer_.reply_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a reply of ", reply.size(), " bytes, where the sender has space for ", offer_.reply_bytes));
  }
  handed_over_[slot] = false;
  Reply& finishing = finishing_.emplace_back(Reply{.sequence = sequence});
  if (connected() && !reply.empty()) {
    finishing.bytes = static_cast<uint32_t>(reply.size());
    std::memcpy(replies_->bytes().data() + kFeedbackBytes + slot * ReplyStride(offer_.reply_bytes), reply.data(),
                reply.size());
  }
  return absl::OkStatus();
}

// A reply goes out when it is safe that its request is not executed again.
absl::Status FlushReceiver::FinishPending() {
  std::vector<uint64_t> sequences;
  for (const Reply& reply : finishing_) sequences.push_back(reply.sequence);
  if (absl::Status finished = ring_->Finish(sequences); !finished.ok()) return finished;
  // A sender that comes later is told by the answer where the log begins.
  if (connected()) to_send_.insert(to_send_.end(), finishing_.begin(), finishing_.end());
  finishing_.clear();
  return absl::OkStatus();
}

// In batches: in a queue that is full, no more than one of them is tried in a Poll.
void FlushReceiver::PostReplies() {
  // An honest sender waits for one to each slot at most.
  if (to_send_.size() > options_.shape.slots) return Fail("it takes no replies");
  while (!to_send_.empty()) {
    const size_t many = std::min<size_t>(to_send_.size(), options_.batch);
    RequestBatch batch(many);
    for (size_t i = 0; i < many; ++i) {
      const Reply& reply = to_send_[i];
      const uint64_t offset = kFeedbackBytes + SlotOf(options_.shape, reply.sequence) * ReplyStride(offer_.reply_bytes);
      fabric::SendRequest& request = batch.Add(
          Opcode::kWriteWithImmediate, 0, SegmentOf(*replies_, offset, reply.bytes), After(offer_.feedback, offset));
      request.immediate = static_cast<uint32_t>(reply.sequence);
    }
    batch.back().signaled = true;
    const absl::Status posted = batch.PostOn(*queue_pair_);
    if (absl::IsResourceExhausted(posted)) return;
    if (!posted.ok()) return Fail(posted.message());
    to_send_.erase(to_send_.begin(), to_send_.begin() + static_cast<ptrdiff_t>(many));
  }
}

// For SENDs: the n-th receive lies in the n-th slot, and is posted when all before the slot's last entry are finished.
void FlushReceiver::PostReceives() {
  if (SentByWrite(options_.mode)) return;
  std::vector<fabric::ReceiveRequest> receives;
  const uint64_t end = ring_->head() + options_.shape.slots;
  for (uint64_t sequence = receives_posted_ + 1; sequence < end; ++sequence) {
    const uint64_t offset = SlotOf(options_.shape, sequence) * options_.shape.slot_bytes;
    receives.push_back({.id = sequence, .buffer = SegmentOf(*slots_, offset, options_.shape.slot_bytes)});
  }
  if (receives.empty()) return;
  const absl::Status posted = queue_pair_->PostReceive(receives);
  if (posted.ok()) {
    receives_posted_ = end - 1;
  } else if (!absl::IsResourceExhausted(posted)) {
    Fail(posted.message());
  }
}

void FlushReceiver::LookAfterPeer() {
  if (++idle_polls_ % kPollsToRefresh != 0) return;
  if (queue_pair_->RefreshState() == fabric::QueuePairState::kError) Fail(queue_pair_->error().message());
}

void FlushReceiver::Fail(absl::string_view cause) {
  if (!connection_.ok()) return;
  connection_ = absl::UnavailableError(
      absl::StrCat("the sender of a durable connection is gone (", cause, "); open the log for another one"));
  to_send_.clear();
  if (queue_pair_ != nullptr) queue_pair_->Close();
}

}  // namespace skein::durable
