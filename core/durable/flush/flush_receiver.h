// The receiving end of a durable connection: a log that its peer writes from afar, and the requests in it.
#ifndef SKEIN_CORE_DURABLE_FLUSH_FLUSH_RECEIVER_H_
#define SKEIN_CORE_DURABLE_FLUSH_FLUSH_RECEIVER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/durable/flush/flush_entry.h"
#include "core/durable/flush/flush_mode.h"
#include "core/durable/flush/flush_ring.h"
#include "core/durable/flush/handshake.h"
#include "core/durable/flush/level.h"
#include "core/durable/flush/requests.h"
#include "core/durable/storage/storage.h"
#include "core/fabric/fabric.h"

namespace skein::durable {

struct FlushReceiverOptions {
  FlushMode mode = FlushMode::kWRFlush;  // of every sender that may connect
  RingShape shape;
  PlatformHints platform;         // of this host
  std::optional<LogId> identity;  // a ring with another one is not opened
  uint32_t slow_down_above = 0;   // unfinished requests; 0: half of the slots
  uint32_t batch = 32;            // taken, and persisted together, in one Poll
};

// One thread at a time; no threads of its own, and nothing waits. Open, which finds what a former life has left;
// Accept, once; Poll. What was acknowledged is handed to the handler once in each life of the storage until it is
// finished, in order; what was finished never again. When the sender is gone, the receiver still finishes; for another
// sender, open another receiver on the same storage.
class FlushReceiver {
 public:
  // `storage`, of at least StorageBytes(shape), is this receiver's alone for as long as it lives. nullptr: plain
  // memory, which keeps nothing. wflush and sflush want a storage that is mapped memory, or none. The device outlives
  // the receiver. Errors: FlushRing::Open's, the device's, FAILED_PRECONDITION for a storage that the mode cannot use.
  static absl::StatusOr<std::unique_ptr<FlushReceiver>> Open(fabric::Device& device, std::shared_ptr<Storage> storage,
                                                             const FlushReceiverOptions& options);
  ~FlushReceiver();

  // A sender's offer; returns the answer. Errors: the offer's; FAILED_PRECONDITION for another mode, another number of
  // slots, a level that is not achieved (CheckWanted), or a second sender.
  absl::StatusOr<std::string> Accept(absl::string_view offer);

  // Hands over what a former life has left, then what has come: with rflush, when it is persisted and the
  // acknowledgement is on its way. Then sees to it that what is finished is persisted as such, and sends the replies.
  // `on_request` may Finish it, or later. UNAVAILABLE when the sender is gone, and other errors if the storage has
  // failed, upon which nothing is acknowledged any more.
  using Handler = absl::FunctionRef<void(FlushEntry request)>;
  absl::Status Poll(Handler on_request);

  // The request is executed: it is not handed over again, and `reply` goes to the sender, if one is there; both with
  // the next Poll. In any order. INVALID_ARGUMENT for a reply longer than the sender has space for, NOT_FOUND for a
  // sequence that is not to be finished.
  absl::Status Finish(uint64_t sequence, absl::string_view reply);

  // What an acknowledgement is worth.
  Persistence level() const { return Achieved(options_.mode, verb_, memory_, options_.platform); }
  // By what the sender flushes, if it does; a READ as long as there is none.
  FlushVerb verb() const { return verb_; }
  uint64_t unfinished() const { return ring_->next() > ring_->head() ? ring_->next() - ring_->head() : 0; }
  bool connected() const { return queue_pair_ != nullptr && connection_.ok(); }

 private:
  FlushReceiver(fabric::Device& device, const FlushReceiverOptions& options) : device_(device), options_(options) {}

  absl::Status Prepare(std::shared_ptr<Storage> storage);
  absl::Status RegisterSlots();
  absl::Status PrepareConnection(const FlushOffer& offer);
  void ClearWords();
  std::atomic_ref<uint64_t> OperatorWord(uint64_t sequence);
  void TakeCompletions();
  std::vector<FlushEntry> TakeEntries();
  bool HasCome(uint64_t sequence);
  absl::Status Acknowledge(absl::Span<const FlushEntry> entries);
  void PostFeedback();
  absl::Status FinishPending();
  void PostReplies();
  void PostReceives();
  void LookAfterPeer();
  void Fail(absl::string_view cause);
  HeaderPlace place() const { return SentByWrite(options_.mode) ? HeaderPlace::kLast : HeaderPlace::kFirst; }

  struct Reply {
    uint64_t sequence = 0;
    uint32_t bytes = 0;
  };
  // Feedback words are sent out of a few places in turn, so that one that is on its way is not changed.
  static constexpr uint32_t kFeedbackWords = 8;

  fabric::Device& device_;
  const FlushReceiverOptions options_;
  LogMemory memory_;
  fabric::DeviceCapabilities flushable_;  // FLUSHes that the slots' memory allows
  FlushVerb verb_ = FlushVerb::kRead;
  FlushOffer offer_;  // the sender's
  std::unique_ptr<FlushRing> ring_;
  std::unique_ptr<fabric::MemoryRegion> slots_;    // where the sender writes
  std::unique_ptr<fabric::MemoryRegion> replies_;  // and what goes back: words, then a reply to each slot
  std::unique_ptr<fabric::CompletionQueue> queue_;
  std::unique_ptr<fabric::QueuePair> queue_pair_;  // after what it uses
  std::vector<FlushEntry> recovered_;
  uint64_t come_ = 1;              // entries before this one are taken
  uint64_t arrived_ = 0;           // SENDs up to this one
  uint64_t receives_posted_ = 0;   // the same
  std::vector<bool> handed_over_;  // by slot: handed over, and not finished
  std::vector<Reply> finishing_;
  std::deque<Reply> to_send_;
  uint64_t feedback_ = 0;  // the last one sent
  uint64_t feedbacks_sent_ = 0;
  uint64_t feedbacks_done_ = 0;
  uint32_t idle_polls_ = 0;
  absl::Status connection_;
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_FLUSH_FLUSH_RECEIVER_H_
