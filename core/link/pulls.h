// The peer's blocks (blocks.h) on their way here: those that are announced, the READs under way, and what is to be
// answered. A few READs at a time, each stream's blocks in their order, the streams in turn: whatever else comes over
// the link waits for no more than these few.
#ifndef SKEIN_CORE_LINK_PULLS_H_
#define SKEIN_CORE_LINK_PULLS_H_

#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/received_bytes.h"
#include "core/channel/memory_operation.h"
#include "core/fabric/fabric.h"
#include "core/wire/block.h"

namespace skein::link {

class Operations;
class SendQueue;

// Of a link; used by the owner of its polling. Outlives the channel, which writes into its memory.
class Pulls {
 public:
  // Takes memory that the device reads into; RESOURCE_EXHAUSTED if there is none.
  static absl::StatusOr<std::unique_ptr<Pulls>> Create(fabric::Device& device);

  // The peer has announced a block. DATA_LOSS if it has before, and was not answered yet.
  absl::Status Begin(const wire::Block& block);
  // What is to become of it: it is read for a stream, or answered as if it had been.
  void Read(uint32_t stream, const wire::Block& block);
  void Skip(const wire::Block& block) { answers_.push_back(block.number); }

  // Posts READs, and skips what is not `wanted` any more. Whether any was posted.
  bool Post(Operations& operations, absl::FunctionRef<bool(uint32_t stream)> wanted);
  // What has come, oldest first.
  struct Pulled {
    uint32_t stream = 0;
    ReceivedBytes bytes;
    size_t size = 0;
  };
  std::optional<Pulled> Take();
  bool under_way() const { return !under_way_.empty(); }
  // Nothing is announced, under way, or to be answered.
  bool idle() const { return lines_.empty() && under_way_.empty() && answers_.empty(); }
  // Whether Take would give something.
  bool ready() const { return !under_way_.empty() && under_way_.front()->done(); }
  // Whether Post found no space among the channel's requests: to be called again when sends have completed.
  bool blocked() const { return blocked_; }
  // Tells the peer which blocks are free: once that is worth a message, or no more are coming.
  absl::Status Answer(SendQueue& queue);
  // The link is lost, and what was under way has been flushed.
  void Clear();

 private:
  class Pull final : public channel::MemoryOperation {
   public:
    explicit Pull(const fabric::Segment& place) {
      request.opcode = fabric::Opcode::kRead;
      local = place;
    }
    // By the poller, before it is posted.
    void Begin(uint32_t of_stream, const wire::Block& announced);
    void OnDone(fabric::CompletionStatus status) override {
      status_.store(static_cast<int>(status), std::memory_order_release);
    }
    bool done() const { return status_.load(std::memory_order_acquire) != kUnderWay; }
    bool succeeded() const {
      return status_.load(std::memory_order_acquire) == static_cast<int>(fabric::CompletionStatus::kSuccess);
    }

    uint32_t stream = 0;
    wire::Block block;

   private:
    static constexpr int kUnderWay = -1;
    std::atomic<int> status_ =
        kUnderWay;  // release by who polls the queues, acquire by the poller: the bytes are there
  };
  struct Line {
    uint32_t stream = 0;
    std::deque<wire::Block> blocks;
  };

  explicit Pulls(std::unique_ptr<fabric::MemoryRegion> landing);
  void DropFirst();

  const std::unique_ptr<fabric::MemoryRegion> landing_;
  std::deque<Line> lines_;  // in turn; none is empty
  std::deque<std::unique_ptr<Pull>> under_way_;
  std::vector<std::unique_ptr<Pull>> free_;  // for further READs, each with its place in landing_
  std::bitset<wire::kMaxBlocks> begun_;      // announced, and not answered
  std::vector<uint32_t> answers_;
  bool blocked_ = false;
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_PULLS_H_
