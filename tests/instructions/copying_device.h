// A device whose WRITEs are done when they are posted, within this process: what is counted is what stands above it.
#ifndef SKEIN_TESTS_INSTRUCTIONS_COPYING_DEVICE_H_
#define SKEIN_TESTS_INSTRUCTIONS_COPYING_DEVICE_H_

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/fabric/fabric.h"
#include "tests/support/require.h"

namespace skein::instructions {

class CopyingMemory final : public fabric::MemoryRegion {
 public:
  explicit CopyingMemory(size_t bytes) : own_(bytes), bytes_(own_.data(), own_.size()) {}
  explicit CopyingMemory(absl::Span<std::byte> bytes) : bytes_(bytes) {}
  absl::Span<std::byte> bytes() const override { return bytes_; }
  uint32_t lkey() const override { return 1; }
  fabric::RemoteAddress remote() const override { return {reinterpret_cast<uint64_t>(bytes_.data()), 1}; }

 private:
  std::vector<std::byte> own_;
  const absl::Span<std::byte> bytes_;
};

class CopyingCompletions final : public fabric::CompletionQueue {
 public:
  void Add(const fabric::Completion& completion) { waiting_.push_back(completion); }
  size_t Poll(absl::Span<fabric::Completion> out) override {
    const size_t count = std::min(out.size(), waiting_.size() - taken_);
    std::copy_n(waiting_.begin() + static_cast<ptrdiff_t>(taken_), count, out.begin());
    taken_ += count;
    if (taken_ == waiting_.size()) {
      waiting_.clear();
      taken_ = 0;
    }
    return count;
  }
  absl::Status Arm() override { return absl::OkStatus(); }
  int fd() const override { return -1; }
  void Wake() override {}
  absl::Status Watch(int) override { return absl::OkStatus(); }
  void Forget(int) override {}
  void AckEvents() override {}

 private:
  std::vector<fabric::Completion> waiting_;
  size_t taken_ = 0;
};

// Two ends of this process. Offers and answers are their addresses.
class CopyingQueuePair final : public fabric::QueuePair {
 public:
  explicit CopyingQueuePair(const fabric::QueuePairOptions& options)
      : send_queue_(static_cast<CopyingCompletions*>(options.send_queue)),
        receive_queue_(static_cast<CopyingCompletions*>(options.receive_queue)) {}

  absl::StatusOr<std::string> Offer() override { return absl::StrCat(reinterpret_cast<uint64_t>(this)); }
  absl::StatusOr<std::string> Accept(absl::string_view offer) override {
    if (absl::Status completed = Complete(offer); !completed.ok()) return completed;
    return Offer();
  }
  absl::Status Complete(absl::string_view answer) override {
    uint64_t address = 0;
    Require(absl::SimpleAtoi(answer, &address), "a queue pair's address");
    peer_ = reinterpret_cast<CopyingQueuePair*>(address);
    return absl::OkStatus();
  }

  absl::Status PostSend(absl::Span<const fabric::SendRequest> batch) override {
    for (const fabric::SendRequest& request : batch) {
      size_t bytes = 0;
      for (const fabric::Segment& segment : request.local) {
        std::memcpy(reinterpret_cast<std::byte*>(request.remote.address) + bytes, segment.data, segment.size);
        bytes += segment.size;
      }
      if (request.opcode == fabric::Opcode::kWriteWithImmediate) {
        peer_->receive_queue_->Add({0, fabric::CompletionStatus::kSuccess, fabric::Opcode::kReceiveWithImmediate,
                                    request.immediate, bytes, peer_});
      }
      if (request.signaled) {
        send_queue_->Add({request.id, fabric::CompletionStatus::kSuccess, request.opcode, 0, 0, this});
      }
    }
    return absl::OkStatus();
  }
  absl::Status PostReceive(absl::Span<const fabric::ReceiveRequest>) override { return absl::OkStatus(); }
  fabric::QueuePairState state() const override { return fabric::QueuePairState::kReady; }
  fabric::QueuePairState RefreshState() override { return state(); }
  absl::Status error() const override { return absl::OkStatus(); }
  void Close() override {}

 private:
  CopyingCompletions* const send_queue_;
  CopyingCompletions* const receive_queue_;
  CopyingQueuePair* peer_ = nullptr;
};

class CopyingDevice final : public fabric::Device {
 public:
  absl::string_view name() const override { return "copying"; }
  fabric::DeviceCapabilities capabilities() const override {
    fabric::DeviceCapabilities capabilities;
    capabilities.max_message_bytes = uint64_t{1} << 30;
    return capabilities;
  }
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Allocate(size_t bytes, uint32_t) override {
    return std::make_unique<CopyingMemory>(bytes);
  }
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Register(absl::Span<std::byte> bytes, uint32_t) override {
    return std::make_unique<CopyingMemory>(bytes);
  }
  absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> CreateCompletionQueue(uint32_t) override {
    return std::make_unique<CopyingCompletions>();
  }
  absl::StatusOr<std::unique_ptr<fabric::SharedReceiveQueue>> CreateSharedReceiveQueue(uint32_t) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> CreateQueuePair(const fabric::QueuePairOptions& options) override {
    return std::make_unique<CopyingQueuePair>(options);
  }
};

}  // namespace skein::instructions

#endif  // SKEIN_TESTS_INSTRUCTIONS_COPYING_DEVICE_H_
