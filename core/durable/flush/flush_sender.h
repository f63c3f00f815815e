// The sending end of a durable connection: requests into the receiver's log, told when they are safe there, and when
// they are executed.
#ifndef SKEIN_CORE_DURABLE_FLUSH_FLUSH_SENDER_H_
#define SKEIN_CORE_DURABLE_FLUSH_FLUSH_SENDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/durable/flush/flush_entry.h"
#include "core/durable/flush/flush_mode.h"
#include "core/durable/flush/handshake.h"
#include "core/durable/flush/requests.h"
#include "core/durable/storage/persistence.h"
#include "core/fabric/fabric.h"

namespace skein::durable {

struct FlushSenderOptions {
  FlushMode mode = FlushMode::kWRFlush;
  std::optional<Persistence> wanted;   // no connection that does not give it (Gives)
  ClientId client{};                   // shown to the receiver's handler
  uint32_t slots = RingShape{}.slots;  // as many as the receiver's log has: so many requests may be unfinished
  uint32_t reply_bytes = 64;           // the longest reply
};

// One thread at a time; no threads of its own, and nothing waits: who wants something to happen calls Poll. Create,
// Offer, Complete, and then the rest. Once the peer or the connection is gone everything is UNAVAILABLE, with the
// cause; what was acknowledged is safe at the receiver all the same. To go on, connect another one: it begins at the
// first sequence that the receiver does not have, which tells what to send again.
class FlushSender {
 public:
  // The device outlives the sender. Errors: the device's; INVALID_ARGUMENT for options out of range.
  static absl::StatusOr<std::unique_ptr<FlushSender>> Create(fabric::Device& device, const FlushSenderOptions& options);
  ~FlushSender();

  // For FlushReceiver::Accept.
  absl::StatusOr<std::string> Offer();
  // With what that has returned. Errors: of the answer's bytes, which are a peer's; the device's; FAILED_PRECONDITION
  // if it achieves less than was wanted.
  absl::Status Complete(absl::string_view answer);

  // The first sequence that Send will give; the receiver has all before it.
  uint64_t next() const { return next_; }
  // Puts a request behind those that are to be sent: nothing leaves before Flush. Returns its sequence, one more than
  // the last. RESOURCE_EXHAUSTED when the log has no slot for it: Poll, and try again when space() is not 0.
  // INVALID_ARGUMENT if it is longer than largest_payload().
  absl::StatusOr<uint64_t> Send(absl::string_view payload);
  // Sends them with one doorbell, and one flush for all (4.3). Also OK when the device's queue is full: the next Poll
  // sends them then.
  absl::Status Flush();

  // Takes what has come: acknowledgements, and replies, in the order in which the receiver finished; each is good for
  // the call. After a reconnection, also of requests that a former sender sent. `on_reply` must not call the sender.
  using ReplyHandler = absl::FunctionRef<void(uint64_t sequence, absl::string_view reply)>;
  absl::Status Poll(ReplyHandler on_reply);

  struct Acknowledged {
    uint64_t up_to = 0;  // sequence; 0: none
    Persistence level = Persistence::kVisible;
  };
  // How far requests are as safe as the level says, before they need be executed.
  Acknowledged acknowledged() const { return {acknowledged_, level_}; }
  // By what this end flushes, if it does.
  FlushVerb verb() const { return verb_; }
  // All up to this one are finished.
  uint64_t finished() const { return head_ - 1; }
  // So many requests more have a slot.
  uint32_t space() const { return shape_.slots - static_cast<uint32_t>(next_ - head_); }
  // The receiver asks to send more slowly: its log is filling up.
  bool slow_down() const { return slow_down_; }
  uint32_t largest_payload() const { return LargestPayload(shape_); }
  absl::Status status() const { return failure_; }

 private:
  FlushSender(fabric::Device& device, const FlushSenderOptions& options) : device_(device), options_(options) {}

  absl::Status Prepare();
  absl::Status PostReceives(uint32_t count);
  fabric::RemoteAddress RemoteOf(uint64_t sequence, uint64_t offset) const;
  void AddRead(RequestBatch& batch, uint64_t id, uint64_t sequence) const;
  bool OffersFlushes() const;
  void AddFlush(RequestBatch& batch, uint64_t first, uint64_t last) const;
  void AddFlushOfRow(RequestBatch& batch, uint64_t first, uint64_t last) const;
  // How much has come.
  uint32_t TakeCompletions(ReplyHandler on_reply);
  void TakeCompletion(const fabric::Completion& completion, ReplyHandler on_reply);
  void TakeReply(const fabric::Completion& completion, ReplyHandler on_reply);
  bool TakeFeedback();
  void LookAfterPeer();
  void Fail(absl::string_view cause);
  HeaderPlace place() const { return SentByWrite(options_.mode) ? HeaderPlace::kLast : HeaderPlace::kFirst; }

  // Of each slot's entry, the part that goes over the wire.
  struct Staged {
    uint32_t offset = 0;
    uint32_t bytes = 0;
  };

  fabric::Device& device_;
  const FlushSenderOptions options_;
  RingShape shape_;
  RingKey key_;
  fabric::RemoteAddress slots_;
  Persistence level_ = Persistence::kVisible;
  FlushVerb verb_ = FlushVerb::kRead;
  std::unique_ptr<fabric::MemoryRegion> feedback_;  // the receiver writes here
  std::unique_ptr<fabric::MemoryRegion> staging_;   // a slot for each of the log's, and a word for READs to land in
  std::unique_ptr<fabric::CompletionQueue> queue_;
  std::unique_ptr<fabric::QueuePair> queue_pair_;  // after what it uses
  std::vector<Staged> staged_;
  std::vector<bool> finished_;  // by slot, of [head_, next_)
  uint64_t head_ = 1;
  uint64_t next_ = 1;
  uint64_t posted_ = 0;  // up to this one
  uint64_t acknowledged_ = 0;
  bool flush_again_ = false;  // the device's queue was full
  bool slow_down_ = false;
  uint32_t receives_taken_ = 0;  // to be posted again
  std::string reply_;
  bool probing_ = false;
  uint32_t idle_polls_ = 0;
  absl::Status failure_;
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_FLUSH_FLUSH_SENDER_H_
