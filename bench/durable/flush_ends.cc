// Durable connections, as core/durable/flush has them; the log and the objects are in persistent memory.
#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "bench/durable/ends.h"
#include "bench/durable/modelled_pmem.h"
#include "core/durable/flush/flush_receiver.h"
#include "core/durable/flush/flush_sender.h"

namespace skein::bench::durable {
namespace {

using skein::durable::FlushedBySender;
using skein::durable::FlushEntry;
using skein::durable::FlushMode;
using skein::durable::FlushReceiver;
using skein::durable::FlushReceiverOptions;
using skein::durable::FlushSender;
using skein::durable::FlushSenderOptions;
using skein::durable::kFlushHeaderBytes;
using skein::durable::RingShape;
using skein::durable::SentByWrite;

constexpr uint32_t kSlots = 32;

class FlushSenderEnd final : public SenderEnd {
 public:
  FlushSenderEnd(FlushMode mode, std::unique_ptr<FlushSender> sender, const Costs& costs)
      : mode_(mode), sender_(std::move(sender)), costs_(costs) {}

  uint64_t first() const override { return sender_->next(); }
  bool early() const override { return true; }
  bool receiver_acknowledges() const override { return !FlushedBySender(mode_); }
  bool HasRoom(size_t operations) const override { return sender_->space() >= operations; }
  absl::Duration SendCost(absl::Span<const Operation> batch) const override {
    absl::Duration cost = costs_.cpu.doorbell;
    for (const Operation& operation : batch) {
      const size_t bytes = RequestBytes(operation);
      cost += costs_.cpu.header + costs_.cpu.item + costs_.Copy(bytes) + costs_.Checksum(bytes + kFlushHeaderBytes);
    }
    return cost;
  }
  absl::Status Send(absl::Span<const Operation> batch) override {
    for (const Operation& operation : batch) {
      const absl::StatusOr<uint64_t> number = sender_->Send(RequestOf(operation));
      if (!number.ok()) return number.status();
    }
    return sender_->Flush();
  }
  absl::StatusOr<News> Poll() override {
    News news;
    const absl::Status polled = sender_->Poll([&](uint64_t number, absl::string_view reply) {
      news.replies.push_back(number);
      // The completion, and the bytes; a receive, whose doorbell is for many.
      news.cost += 2 * costs_.cpu.dma_line + costs_.cpu.header + 2 * costs_.cpu.item + costs_.Copy(reply.size());
    });
    if (!polled.ok()) return polled;
    news.safe_up_to = sender_->acknowledged().up_to;
    if (news.safe_up_to > safe_up_to_) {
      news.cost += costs_.cpu.dma_line;
      // A READ waits for the receiver's memory as well, which the fabric's times leave out.
      if (FlushedBySender(mode_)) news.cost += costs_.pm_read;
    }
    safe_up_to_ = news.safe_up_to;
    return news;
  }

 private:
  const FlushMode mode_;
  const std::unique_ptr<FlushSender> sender_;
  const Costs& costs_;
  uint64_t safe_up_to_ = 0;
};

class FlushReceiverEnd final : public ReceiverEnd {
 public:
  FlushReceiverEnd(FlushMode mode, const RingShape& shape, std::shared_ptr<ModelledPmem> pmem,
                   std::unique_ptr<FlushReceiver> receiver, uint64_t next, const Costs& costs)
      : mode_(mode),
        shape_(shape),
        pmem_(std::move(pmem)),
        receiver_(std::move(receiver)),
        costs_(costs),
        next_(next),
        recovered_(receiver_->unfinished()) {}

  // Looks at what a poll would find, without polling: a header with the next sequence in its slot.
  absl::Duration TakeCost() override {
    // Those of a former life are all taken to be as long as they can be.
    absl::Duration cost = EntryCost(shape_.slot_bytes) * static_cast<int64_t>(recovered_);
    for (const Request& request : taken_) cost += EntryCost(RequestBytes(request.operation));
    for (uint64_t sequence = next_; sequence < next_ + shape_.slots; ++sequence) {
      skein::durable::FlushHeader header;
      const uint64_t slot = SlotOffsetOf(shape_, sequence);
      std::memcpy(&header,
                  pmem_->mapped().data() + slot + (SentByWrite(mode_) ? shape_.slot_bytes - sizeof(header) : 0),
                  sizeof(header));
      if (header.sequence != sequence) break;
      cost += EntryCost(header.size);
    }
    return cost + (cost > absl::ZeroDuration() ? BatchCost() : absl::ZeroDuration());
  }
  absl::Status Take(std::vector<Request>& requests) override {
    const absl::Status polled = Poll();
    requests.insert(requests.end(), taken_.begin(), taken_.end());
    taken_.clear();
    return polled;
  }
  absl::Duration ExecuteCost(const Operation& operation) const override {
    return operation.is_write != 0 ? costs_.WritePm(operation.object_bytes) : costs_.ReadPm(operation.object_bytes);
  }
  absl::Duration FinishCost(absl::Span<const Request> requests) const override {
    // The marks are persisted together.
    absl::Duration cost = costs_.pm_write + costs_.cpu.doorbell;
    for (const Request& request : requests) {
      cost += costs_.cpu.header + costs_.cpu.item + costs_.Copy(ReplyBytes(request.operation));
    }
    return cost;
  }
  absl::Status Finish(absl::Span<const Request> requests) override {
    for (const Request& request : requests) {
      reply_.resize(ReplyBytes(request.operation), 'r');
      if (absl::Status finished = receiver_->Finish(request.number, reply_); !finished.ok()) return finished;
    }
    return Poll();  // sends them
  }

 private:
  absl::Status Poll() {
    recovered_ = 0;
    return receiver_->Poll([&](FlushEntry entry) {
      taken_.push_back({.number = entry.sequence, .operation = OperationOf(entry.payload)});
      next_ = std::max(next_, entry.sequence + 1);
    });
  }
  absl::Duration EntryCost(size_t payload) const {
    const absl::Duration arrival = (SentByWrite(mode_) ? 1 : 2) * (costs_.cpu.dma_line + costs_.cpu.item);
    const absl::Duration persist =
        FlushedBySender(mode_) ? absl::ZeroDuration() : costs_.PersistClean(payload + kFlushHeaderBytes);
    return arrival + costs_.cpu.header + costs_.ReadPm(payload) + costs_.Checksum(payload + kFlushHeaderBytes) +
           persist;
  }
  absl::Duration BatchCost() const { return FlushedBySender(mode_) ? absl::ZeroDuration() : costs_.cpu.doorbell; }

  const FlushMode mode_;
  const RingShape shape_;
  const std::shared_ptr<ModelledPmem> pmem_;
  const std::unique_ptr<FlushReceiver> receiver_;
  const Costs& costs_;
  uint64_t next_;
  uint64_t recovered_;          // by opening the log, and not taken
  std::vector<Request> taken_;  // by a poll that was for replies: their cost comes with the next Take
  std::string reply_;
};

}  // namespace

absl::StatusOr<Connection> ConnectFlush(absl::string_view name, fabric::Device& sending, fabric::Device& receiving,
                                        const ConnectionOptions& options, const Costs& costs) {
  const std::optional<FlushMode> mode = skein::durable::FlushModeOf(name);
  if (!mode) return absl::InvalidArgumentError("no such mode");
  const size_t largest = kFlushHeaderBytes + sizeof(Operation) + options.object_bytes;
  FlushReceiverOptions receiver_options;
  receiver_options.mode = *mode;
  receiver_options.shape = {.slot_bytes = static_cast<uint32_t>((largest + 63) / 64 * 64),
                            .slots = std::max<uint32_t>(kSlots, static_cast<uint32_t>(2 * options.batch))};
  receiver_options.platform = {.ddio = false, .domain = skein::durable::PersistenceDomain::kAdr};
  auto pmem =
      options.pmem != nullptr ? options.pmem : std::make_shared<ModelledPmem>(StorageBytes(receiver_options.shape));
  auto receiver = FlushReceiver::Open(receiving, pmem, receiver_options);
  if (!receiver.ok()) return receiver.status();
  FlushSenderOptions sender_options;
  sender_options.mode = *mode;
  sender_options.slots = receiver_options.shape.slots;
  sender_options.reply_bytes = static_cast<uint32_t>(std::max<size_t>(options.object_bytes, 8));
  auto sender = FlushSender::Create(sending, sender_options);
  if (!sender.ok()) return sender.status();
  const absl::StatusOr<std::string> offer = (*sender)->Offer();
  if (!offer.ok()) return offer.status();
  const absl::StatusOr<std::string> answer = (*receiver)->Accept(*offer);
  if (!answer.ok()) return answer.status();
  if (absl::Status connected = (*sender)->Complete(*answer); !connected.ok()) return connected;
  return Connection{.receiver = std::make_unique<FlushReceiverEnd>(*mode, receiver_options.shape, pmem,
                                                                   *std::move(receiver), (*sender)->next(), costs),
                    .sender = std::make_unique<FlushSenderEnd>(*mode, *std::move(sender), costs),
                    .pmem = pmem};
}

}  // namespace skein::bench::durable
