// A queue pair whose WRITEs land in plain memory at once: the fabric reduced to what a ring
// needs of it.
#ifndef SKEIN_TESTS_UNIT_RING_PLAIN_FABRIC_H_
#define SKEIN_TESTS_UNIT_RING_PLAIN_FABRIC_H_

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/fabric/fabric.h"
#include "gtest/gtest.h"

namespace skein::channel {

inline constexpr uint64_t kRingAddress = 0x10000;
inline constexpr uint32_t kRingKey = 77;
inline constexpr uint64_t kRingSecret = 0x5ec3e7;

class PlainMemory final : public fabric::MemoryRegion {
 public:
  explicit PlainMemory(size_t bytes) : words_(bytes / 8) {}
  absl::Span<std::byte> bytes() const override {
    return {reinterpret_cast<std::byte*>(words_.data()), words_.size() * 8};
  }
  uint32_t lkey() const override { return 5; }
  fabric::RemoteAddress remote() const override { return {kRingAddress, kRingKey}; }

 private:
  mutable std::vector<uint64_t> words_;
};

class PlainQueuePair final : public fabric::QueuePair {
 public:
  explicit PlainQueuePair(absl::Span<std::byte> ring) : ring_(ring) {}

  // RESOURCE_EXHAUSTED from now on, as when the send queue is full.
  bool full = false;
  std::function<void(const fabric::SendRequest&)> on_post;
  // All requests so far, without their bytes.
  std::vector<fabric::SendRequest> posted;

  absl::Status PostSend(absl::Span<const fabric::SendRequest> batch) override {
    if (full) return absl::ResourceExhaustedError("the send queue is full");
    for (const fabric::SendRequest& request : batch) {
      EXPECT_EQ(request.remote.rkey, kRingKey);
      size_t at = request.remote.address - kRingAddress;
      for (const fabric::Segment& segment : request.local) {
        if (at > ring_.size() || segment.size > ring_.size() - at) {
          return absl::InternalError("a write outside the ring");
        }
        std::memcpy(ring_.data() + at, segment.data, segment.size);
        at += segment.size;
      }
      if (on_post) on_post(request);
      posted.push_back(request);
      posted.back().local = {};
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Offer() override { return ""; }
  absl::StatusOr<std::string> Accept(absl::string_view) override { return ""; }
  absl::Status Complete(absl::string_view) override { return absl::OkStatus(); }
  absl::Status PostReceive(absl::Span<const fabric::ReceiveRequest>) override { return absl::OkStatus(); }
  fabric::QueuePairState state() const override { return fabric::QueuePairState::kReady; }
  fabric::QueuePairState RefreshState() override { return state(); }
  absl::Status error() const override { return absl::OkStatus(); }
  void Close() override {}

 private:
  const absl::Span<std::byte> ring_;
};

class PlainDevice final : public fabric::Device {
 public:
  absl::string_view name() const override { return "plain"; }
  fabric::DeviceCapabilities capabilities() const override {
    fabric::DeviceCapabilities capabilities;
    capabilities.max_message_bytes = uint64_t{1} << 30;
    capabilities.good_message_bytes = uint64_t{128} << 10;
    return capabilities;
  }
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Allocate(size_t bytes, uint32_t) override {
    return std::make_unique<PlainMemory>(bytes);
  }
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Register(absl::Span<std::byte>, uint32_t) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> CreateCompletionQueue(uint32_t) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::unique_ptr<fabric::SharedReceiveQueue>> CreateSharedReceiveQueue(uint32_t) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> CreateQueuePair(const fabric::QueuePairOptions&) override {
    return absl::UnimplementedError("");
  }
};

}  // namespace skein::channel

#endif  // SKEIN_TESTS_UNIT_RING_PLAIN_FABRIC_H_
