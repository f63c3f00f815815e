// One-sided operations on memory that one end has passed to the other.
#include <cstring>
#include <memory>
#include <optional>

#include "core/channel/memory_operation.h"
#include "tests/conformance/channel_conformance.h"

namespace skein::channel {
namespace {

using fabric::CompletionStatus;
using fabric::Opcode;

constexpr size_t kBytes = 4096;
constexpr uint32_t kAll = fabric::kRemoteRead | fabric::kRemoteWrite | fabric::kRemoteAtomic;

class NotedOperation final : public MemoryOperation {
 public:
  void OnDone(CompletionStatus status) override { done = status; }
  std::optional<CompletionStatus> done;
};

class ChannelOperations : public ChannelConformance {
 protected:
  void SetUp() override {
    ChannelConformance::SetUp();
    ChannelOptions options;
    options.ring_bytes = kRingBytes;
    options.operations = &operations_;
    Reconnect(options);
    local_ = Memory(a(), fabric::kLocalOnly);
  }
  // What they use goes later.
  void TearDown() override {
    local_ = nullptr;
    end_a() = nullptr;
    end_b() = nullptr;
  }

  // Memory of the end's device, which may be this peer's alone.
  static std::unique_ptr<fabric::MemoryRegion> Memory(ChannelEnd& end, uint32_t access) {
    const std::shared_ptr<fabric::Device>& device = end.group->device();
    return device != nullptr ? device->Allocate(kBytes, access).value()
                             : end.transport->Allocate(kBytes, access).value();
  }
  std::unique_ptr<fabric::MemoryRegion> Passed(uint32_t access) {
    std::unique_ptr<fabric::MemoryRegion> memory = Memory(b(), access);
    a().channel->ExpectMemory();
    EXPECT_EQ(b().channel->Pass(*memory), absl::OkStatus());
    return memory;
  }
  // By the active end, with the first `size` bytes of its memory.
  CompletionStatus Operate(Opcode opcode, fabric::RemoteAddress at, size_t size, uint64_t operand = 0,
                           uint64_t swap = 0) {
    NotedOperation operation;
    operation.request.opcode = opcode;
    operation.request.remote = at;
    operation.request.operand = operand;
    operation.request.swap = swap;
    operation.local = {local_->bytes().data(), size, local_->lkey()};
    if (a().channel->executes()) {
      operation.request.local = {&operation.local, 1};
      return a().channel->Execute(operation.request).value();
    }
    EXPECT_EQ(operations_.Begin(operation), absl::OkStatus());
    EXPECT_EQ(a().channel->PostOperations({&operation.request, 1}), absl::OkStatus());
    EXPECT_TRUE(Eventually([&] { return operation.done.has_value(); }));
    return operation.done.value_or(CompletionStatus::kFatal);
  }
  uint64_t Word() const {
    uint64_t word = 0;
    std::memcpy(&word, local_->bytes().data(), sizeof(word));
    return word;
  }

  MemoryOperations operations_;
  std::unique_ptr<fabric::MemoryRegion> local_;
};

fabric::RemoteAddress At(const fabric::MemoryRegion& memory, uint64_t offset) {
  return {memory.remote().address + offset, memory.remote().rkey};
}

TEST_P(ChannelOperations, ReadAndWrite) {
  const std::unique_ptr<fabric::MemoryRegion> memory = Passed(kAll);
  std::memcpy(local_->bytes().data(), "some bytes", 10);
  ASSERT_EQ(Operate(Opcode::kWrite, At(*memory, 100), 10), CompletionStatus::kSuccess);
  EXPECT_TRUE(Eventually([&] { return std::memcmp(memory->bytes().data() + 100, "some bytes", 10) == 0; }));
  std::memcpy(memory->bytes().data() + 100, "other", 5);
  ASSERT_EQ(Operate(Opcode::kRead, At(*memory, 100), 10), CompletionStatus::kSuccess);
  EXPECT_EQ(std::memcmp(local_->bytes().data(), "otherbytes", 10), 0);
}

TEST_P(ChannelOperations, CountAndSwap) {
  const std::unique_ptr<fabric::MemoryRegion> memory = Passed(kAll);
  ASSERT_EQ(Operate(Opcode::kFetchAdd, At(*memory, 8), 8, 5), CompletionStatus::kSuccess);
  EXPECT_EQ(Word(), 0u);
  ASSERT_EQ(Operate(Opcode::kCompareSwap, At(*memory, 8), 8, 5, 9), CompletionStatus::kSuccess);
  EXPECT_EQ(Word(), 5u);
  ASSERT_EQ(Operate(Opcode::kCompareSwap, At(*memory, 8), 8, 5, 7), CompletionStatus::kSuccess);
  EXPECT_EQ(Word(), 9u) << "not what was expected: left alone";
  ASSERT_EQ(Operate(Opcode::kRead, At(*memory, 8), 8), CompletionStatus::kSuccess);
  EXPECT_EQ(Word(), 9u);
}

TEST_P(ChannelOperations, GoBesideMessages) {
  const std::unique_ptr<fabric::MemoryRegion> memory = Passed(kAll);
  ASSERT_EQ(b().Send("there is memory for you"), absl::OkStatus());
  EXPECT_TRUE(Reads(a(), "there is memory for you"));
  ASSERT_EQ(Operate(Opcode::kFetchAdd, At(*memory, 0), 8, 1), CompletionStatus::kSuccess);
  ASSERT_EQ(a().Send("thanks"), absl::OkStatus());
  EXPECT_TRUE(Reads(b(), "thanks"));
}

TEST_P(ChannelOperations, ThatAreNotAllowedTouchNothingAndEndTheChannel) {
  const std::unique_ptr<fabric::MemoryRegion> memory = Passed(fabric::kRemoteRead);
  std::memset(local_->bytes().data(), 1, 8);
  EXPECT_EQ(Operate(Opcode::kWrite, At(*memory, 0), 8), CompletionStatus::kRemoteAccessError);
  for (const std::byte byte : memory->bytes()) ASSERT_EQ(byte, std::byte{0});
  EXPECT_TRUE(Eventually([&] { return a().channel->Ended(); }));
}

TEST_P(ChannelOperations, BeyondItsEndTouchNothing) {
  const std::unique_ptr<fabric::MemoryRegion> memory = Passed(kAll);
  EXPECT_EQ(Operate(Opcode::kRead, At(*memory, kBytes - 4), 8), CompletionStatus::kRemoteAccessError);
}

TEST_P(ChannelOperations, OnMemoryThatIsGoneFail) {
  if (a().channel->executes()) GTEST_SKIP() << "its end has passed the pages themselves";
  std::unique_ptr<fabric::MemoryRegion> memory = Passed(kAll);
  const fabric::RemoteAddress at = At(*memory, 0);
  ASSERT_EQ(Operate(Opcode::kRead, at, 8), CompletionStatus::kSuccess);
  memory = nullptr;
  EXPECT_EQ(Operate(Opcode::kRead, at, 8), CompletionStatus::kRemoteAccessError);
}

INSTANTIATE_TEST_SUITE_P(Transports, ChannelOperations, EveryTransport(), TransportName);

}  // namespace
}  // namespace skein::channel
