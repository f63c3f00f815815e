// FlushReceiver's beginning: its log, its memory, its connection.
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/durable/flush/flush_receiver.h"
#include "core/fabric/requests.h"

namespace skein::durable {

absl::StatusOr<std::unique_ptr<FlushReceiver>> FlushReceiver::Open(fabric::Device& device,
                                                                   std::shared_ptr<Storage> storage,
                                                                   const FlushReceiverOptions& options) {
  if (options.batch == 0) return absl::InvalidArgumentError("a batch of no requests");
  auto receiver = absl::WrapUnique(new FlushReceiver(device, options));
  if (absl::Status prepared = receiver->Prepare(std::move(storage)); !prepared.ok()) return prepared;
  return receiver;
}

absl::Status FlushReceiver::Prepare(std::shared_ptr<Storage> storage) {
  // In the storage itself where the device can write it, so that nothing need be copied; else in memory of the
  // device's.
  const bool by_write = SentByWrite(options_.mode);
  const bool in_place = storage != nullptr && !storage->mapped().empty();
  // Before anything is written to it.
  if (FlushedBySender(options_.mode) && storage != nullptr && !in_place) {
    return absl::FailedPreconditionError(
        absl::StrCat(FlushModeName(options_.mode), " needs a log that the device ", device_.name(),
                     " can write: persistent memory; or let the receiver's CPU flush: ",
                     FlushModeName(by_write ? FlushMode::kWRFlush : FlushMode::kSRFlush)));
  }
  absl::StatusOr<std::unique_ptr<FlushRing>> ring =
      FlushRing::Open(std::move(storage), options_.shape, place(), recovered_, options_.identity);
  if (!ring.ok()) return ring.status();
  ring_ = *std::move(ring);
  memory_ = ring_->memory(in_place);
  come_ = ring_->next();
  arrived_ = receives_posted_ = ring_->next() - 1;
  handed_over_.assign(options_.shape.slots, false);
  for (const FlushEntry& entry : recovered_) handed_over_[SlotOf(options_.shape, entry.sequence)] = true;
  if (absl::Status registered = RegisterSlots(); !registered.ok()) return registered;
  if (by_write) ClearWords();
  return absl::OkStatus();
}

absl::Status FlushReceiver::RegisterSlots() {
  // A READ flushes, or asks whether this end is still there.
  const uint32_t access =
      fabric::kRemoteRead | (SentByWrite(options_.mode) ? fabric::kRemoteWrite : fabric::kLocalOnly);
  // One FLUSH must be able to name them all.
  if (FlushedBySender(options_.mode) && SlotsBytes(options_.shape) <= fabric::kMostFlushBytes) {
    const fabric::DeviceCapabilities offered = device_.capabilities();
    flushable_.flush = offered.flush;
    flushable_.flush_persistent = offered.flush_persistent && memory_.in_place && memory_.fine_grained;
  }
  while (true) {
    const uint32_t flushes = (flushable_.flush ? fabric::kRemoteFlush : 0u) |
                             (flushable_.flush_persistent ? fabric::kRemoteFlushPersistent : 0u);
    absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> slots =
        memory_.in_place ? device_.Register(ring_->MappedSlots(), access | flushes)
                         : device_.Allocate(SlotsBytes(options_.shape), access | flushes);
    if (slots.ok()) {
      slots_ = *std::move(slots);
      return absl::OkStatus();
    }
    // The device may know better than the storage what is persistent memory.
    if (!flushable_.flush_persistent || !absl::IsFailedPrecondition(slots.status())) return slots.status();
    flushable_.flush_persistent = false;
  }
}

// What is lost may lie there with the very word that tells when its sequence comes, and blank memory has that of
// sequence 2^32. Need not be persisted: after a crash its epoch tells.
void FlushReceiver::ClearWords() {
  // In the log itself those before next() stay, which are unfinished.
  const uint64_t end = (memory_.in_place ? ring_->head() : ring_->next()) + options_.shape.slots;
  for (uint64_t sequence = ring_->next(); sequence < end; ++sequence) {
    OperatorWord(sequence).store(WordOfNone(sequence), std::memory_order_relaxed);  // no sender is there yet
  }
}

absl::StatusOr<std::string> FlushReceiver::Accept(absl::string_view bytes) {
  if (queue_pair_ != nullptr) return absl::FailedPreconditionError("this log has its sender; open it anew for another");
  absl::StatusOr<FlushOffer> offer = DecodeOffer(bytes);
  if (!offer.ok()) return offer.status();
  if (offer->mode != options_.mode || offer->slots != options_.shape.slots) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a sender for ", FlushModeName(offer->mode), " and ", offer->slots, " slots, where the receiver has ",
        FlushModeName(options_.mode), " and ", options_.shape.slots, ": let them have the same"));
  }
  const FlushVerb verb = BestVerb(options_.mode, memory_, options_.platform, flushable_.flush && offer->flush,
                                  flushable_.flush_persistent && offer->flush_persistent);
  if (offer->wanted) {
    if (absl::Status good = CheckWanted(*offer->wanted, options_.mode, verb, memory_, options_.platform); !good.ok())
      return good;
  }
  verb_ = verb;
  if (absl::Status prepared = PrepareConnection(*offer); !prepared.ok()) return prepared;
  absl::StatusOr<std::string> answer = queue_pair_->Accept(offer->queue_pair);
  if (!answer.ok()) {
    queue_pair_.reset();  // there may come a better offer
    verb_ = FlushVerb::kRead;
    return answer;
  }
  offer_ = *std::move(offer);
  PostReceives();
  // The sender counts from the head on. What is finished there it shall hear; the replies themselves are gone.
  for (uint64_t sequence = ring_->head(); sequence < ring_->next(); ++sequence) {
    if (ring_->IsFinished(sequence)) to_send_.push_back({.sequence = sequence});
  }
  return EncodeAnswer({.level = level(),
                       .verb = verb_,
                       .shape = options_.shape,
                       .key = ring_->key(),
                       .head = ring_->head(),
                       .next = ring_->next(),
                       .slots = slots_->remote(),
                       .queue_pair = *std::move(answer)});
}

absl::Status FlushReceiver::PrepareConnection(const FlushOffer& offer) {
  const uint32_t slots = options_.shape.slots;
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> replies =
      device_.Allocate(kFeedbackBytes + slots * ReplyStride(offer.reply_bytes), fabric::kLocalOnly);
  if (!replies.ok()) return replies.status();
  // A reply to each slot and those on their way when the slot is taken again, and words.
  const uint32_t sends = 2 * slots + kFeedbackWords;
  absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> queue = device_.CreateCompletionQueue(sends + slots);
  if (!queue.ok()) return queue.status();
  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> queue_pair =
      device_.CreateQueuePair({.send_queue = queue->get(),
                               .receive_queue = queue->get(),
                               .max_send_requests = sends,
                               .max_receive_requests = slots,
                               .flushes = verb_ != FlushVerb::kRead});
  if (!queue_pair.ok()) return queue_pair.status();
  replies_ = *std::move(replies);
  queue_ = *std::move(queue);
  queue_pair_ = *std::move(queue_pair);
  return absl::OkStatus();
}

}  // namespace skein::durable
