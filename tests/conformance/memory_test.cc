// Allocate and Register.
#include "tests/conformance/conformance.h"

namespace skein::fabric {
namespace {

using testing::Each;

class Memory : public Conformance {
 protected:
  static absl::Span<std::byte> Bytes(std::string& text) {
    return absl::MakeSpan(reinterpret_cast<std::byte*>(text.data()), text.size());
  }
};

TEST_P(Memory, AllocateGivesZeroedPages) {
  for (size_t size : {1, 100, 4096, 4097, 1 << 20}) {
    auto region = b().device->Allocate(size, kAllAccess);
    ASSERT_TRUE(region.ok()) << region.status();
    const absl::Span<std::byte> bytes = (*region)->bytes();
    EXPECT_EQ(bytes.size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % 4096, 0u);
    EXPECT_THAT(std::vector<std::byte>(bytes.begin(), bytes.end()), Each(std::byte{0}));
    std::fill(bytes.begin(), bytes.end(), std::byte{0xff});  // for the next one, if it is the same memory
  }
}

TEST_P(Memory, AllocateOfNothingIsInvalid) {
  EXPECT_EQ(b().device->Allocate(0, kAllAccess).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(Memory, AllocateOfTooMuchNamesTheLimit) {
  for (size_t size : {size_t{1} << 50, ~size_t{0}, ~size_t{0} - 4095}) {
    const absl::Status refused = b().device->Allocate(size, kAllAccess).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
    EXPECT_FALSE(refused.message().empty());
  }
  EXPECT_TRUE(b().device->Allocate(4096, kAllAccess).ok());
}

TEST_P(Memory, ReleasedRegionsLeaveNothingBehind) {
  // More than a process may have of descriptors, by default.
  for (int i = 0; i < 3000; ++i) {
    auto region = b().device->Allocate(4096, kAllAccess);
    ASSERT_TRUE(region.ok()) << "after " << i << ": " << region.status();
  }
}

TEST_P(Memory, RegionsDoNotShareKeysOrBytes) {
  auto one = b().device->Allocate(4096, kAllAccess);
  auto other = b().device->Allocate(4096, kAllAccess);
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_NE((*one)->remote().rkey, (*other)->remote().rkey);
  a().PutWord(0, 77);
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, a().Local(0, 8), (*other)->remote()).ok());
  EXPECT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
  EXPECT_EQ((*one)->bytes()[0], std::byte{0});
  EXPECT_EQ((*other)->bytes()[0], std::byte{77});
}

TEST_P(Memory, MadeAfterConnectingIsReachable) {
  for (int i = 0; i < 10; ++i) {
    auto region = b().device->Allocate(8192, kAllAccess);
    ASSERT_TRUE(region.ok()) << region.status();
    RemoteAddress remote = (*region)->remote();
    remote.address += 8184;
    a().PutWord(0, 500 + i);
    ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, a().Local(0, 8), remote).ok());
    ASSERT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
    uint64_t word = 0;
    std::memcpy(&word, (*region)->bytes().data() + 8184, sizeof(word));
    EXPECT_EQ(word, 500u + i);
  }
}

TEST_P(Memory, RegisteredMemoryIsTheCallers) {
  std::string text = "the caller's own bytes";
  auto region = a().device->Register(Bytes(text), kLocalOnly);
  ASSERT_TRUE(region.ok()) << region.status();
  EXPECT_EQ((*region)->bytes().data(), Bytes(text).data());
  EXPECT_EQ((*region)->bytes().size(), text.size());
  region->reset();
  EXPECT_EQ(text, "the caller's own bytes");
}

TEST_P(Memory, RegisteredMemoryIsASource) {
  std::string text(10000, 's');
  auto region = a().device->Register(Bytes(text), kLocalOnly);
  ASSERT_TRUE(region.ok()) << region.status();
  const Segment source{Bytes(text).data(), text.size(), (*region)->lkey()};
  ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(32768, 16384)).ok());
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, source, b().Remote(0)).ok());
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kSend, source).ok());
  EXPECT_THAT(Statuses(PollUntil(a(), 2)), Each(CompletionStatus::kSuccess));
  EXPECT_EQ(PollOne(b()).bytes, text.size());
  EXPECT_EQ(b().Get(0, text.size()), text);
  EXPECT_EQ(b().Get(32768, text.size()), text);
}

TEST_P(Memory, RegisteredMemoryIsALocalTarget) {
  std::string read(1000, '-');
  std::string received(1000, '-');
  std::string old(8, '-');
  auto read_region = a().device->Register(Bytes(read), kLocalOnly);
  auto received_region = a().device->Register(Bytes(received), kLocalOnly);
  auto old_region = a().device->Register(Bytes(old), kLocalOnly);
  ASSERT_TRUE(read_region.ok() && received_region.ok() && old_region.ok());
  std::memset(b().at(0), 'r', 1000);

  ASSERT_TRUE(PostReceive(*a().queue_pair, {Bytes(received).data(), 1000, (*received_region)->lkey()}, 1).ok());
  ASSERT_TRUE(
      Post(*a().queue_pair, Opcode::kRead, {Bytes(read).data(), 1000, (*read_region)->lkey()}, b().Remote(0), 2).ok());
  ASSERT_TRUE(
      Post(*a().queue_pair, Opcode::kFetchAdd, {Bytes(old).data(), 8, (*old_region)->lkey()}, b().Remote(0), 3).ok());
  ASSERT_TRUE(Post(*b().queue_pair, Opcode::kSend, b().Local(0, 1000), {}, 4).ok());
  EXPECT_THAT(Statuses(PollUntil(a(), 3)), Each(CompletionStatus::kSuccess));
  EXPECT_EQ(PollOne(b()).id, 4u);
  EXPECT_EQ(read, std::string(1000, 'r'));
  EXPECT_EQ(received, std::string(1000, 'r'));
  EXPECT_EQ(old, "rrrrrrrr");
}

TEST_P(Memory, RegisteredMemoryCanBeReadByPeers) {
  std::string text(100000, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 >> 4);
  auto region = b().device->Register(Bytes(text).subspan(3), kRemoteRead);
  ASSERT_TRUE(region.ok()) << region.status();
  const End sink(a().device, text.size());
  RemoteAddress remote = (*region)->remote();
  remote.address += 10;
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kRead, sink.Local(0, text.size() - 13), remote).ok());
  const Completion done = PollOne(a());
  EXPECT_EQ(done.status, CompletionStatus::kSuccess);
  EXPECT_EQ(done.bytes, text.size() - 13);
  EXPECT_EQ(sink.Get(0, text.size() - 13), text.substr(13));
}

TEST_P(Memory, RegisteredMemoryIsWrittenByPeers) {
  std::string text(64, '-');
  auto region = b().device->Register(Bytes(text), kRemoteWrite);
  ASSERT_TRUE(region.ok()) << region.status();
  a().Put(0, "written");
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, a().Local(0, 7), (*region)->remote()).ok());
  EXPECT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
  EXPECT_EQ(text, "written" + std::string(57, '-'));
}

TEST_P(Memory, AQueuePairNeedsBothQueues) {
  QueuePairOptions options;
  EXPECT_FALSE(a().device->CreateQueuePair(options).ok());
  options.send_queue = a().queue.get();
  EXPECT_FALSE(a().device->CreateQueuePair(options).ok());
  options.send_queue = nullptr;
  options.receive_queue = a().queue.get();
  EXPECT_FALSE(a().device->CreateQueuePair(options).ok());
}

INSTANTIATE_TEST_SUITE_P(Fabrics, Memory, EveryFabric(), FabricName);

}  // namespace
}  // namespace skein::fabric
