// One end of a channel in shared memory: its messages, and what it does with the peer's memory.
//
// Who owns what. *Sender*: the writer, the wishes (End::wakes_at). *Poller*: the reader. Sender and poller hand
// positions over in layout.h's words, by the orders of handover.h.
//
// | atomic | written | pairs with |
// |---|---|---|
// | messages_read_, bytes_read_ | by the poller, relaxed | none: numbers |
#ifndef SKEIN_CORE_CHANNEL_SHM_SHM_CHANNEL_H_
#define SKEIN_CORE_CHANNEL_SHM_SHM_CHANNEL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/channel/shm/passed_memory.h"
#include "core/channel/shm/shm_connection.h"

namespace skein::channel::shm {

class ShmChannel final : public ShmConnection {
 public:
  // `group` outlives it.
  ShmChannel(ShmGroup& group, const std::shared_ptr<TransportCore>& core, const ChannelOptions& options)
      : ShmConnection(group, core, options), passed_memory_(core->options) {}

  size_t Space(Use use) override;
  bool Fits(size_t bytes, Use use) override;
  size_t LargestItem() const override { return met() ? writer().LargestItem() : 0; }
  size_t LargestItemNow() const override { return met() ? writer().LargestItemNow() : 0; }
  absl::Status Lay(absl::Span<OutItem> items, Use use) override;
  absl::Status Publish(uint64_t stage_time) override;
  uint64_t written() const override { return met() ? writer().position() : 0; }
  uint64_t messages_written() const override { return met() ? writer().messages() : 0; }
  absl::StatusOr<bool> Reached() override { return true; }
  absl::Status Heed() override;
  bool executes() const override { return true; }
  absl::StatusOr<fabric::CompletionStatus> Execute(const fabric::SendRequest& operation) override;
  absl::Status Pass(const fabric::MemoryRegion& region) override;

  absl::StatusOr<std::optional<InMessage>> Next() override;
  void Pop() override;
  bool Readable() const override { return ready() && reader().Readable(); }
  bool AfterReading() override;
  bool MoreSpace() override;
  uint64_t messages_read() const override { return messages_read_.load(std::memory_order_relaxed); }
  uint64_t bytes_read() const override { return bytes_read_.load(std::memory_order_relaxed); }

 private:
  // The sender's.
  size_t SpaceNow(Use use);
  // The writer is broken(): the peer has said what cannot be, and tells of space no more.
  void EndAsBroken();

  PassedMemory passed_memory_;
  std::atomic<uint64_t> messages_read_ = 0;
  std::atomic<uint64_t> bytes_read_ = 0;
};

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_SHM_CHANNEL_H_
