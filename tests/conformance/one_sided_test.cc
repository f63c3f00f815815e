// WRITE, WRITE_WITH_IMM, READ and atomics that are allowed.
#include <limits>
#include <random>

#include "absl/container/flat_hash_set.h"
#include "tests/conformance/conformance.h"

namespace skein::fabric {
namespace {

using testing::Each;

using OneSided = Conformance;

TEST_P(OneSided, WriteLandsAndItsCompletionSaysWhich) {
  a().Put(0, "hello, world");
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, a().Local(0, 12), b().Remote(64), /*id=*/77).ok());
  const Completion done = PollOne(a());
  EXPECT_EQ(done.id, 77u);
  EXPECT_EQ(done.status, CompletionStatus::kSuccess);
  EXPECT_EQ(done.opcode, Opcode::kWrite);
  EXPECT_EQ(done.queue_pair, a().queue_pair.get());
  EXPECT_EQ(b().Get(64, 12), "hello, world");
  ExpectQuiet();
}

TEST_P(OneSided, WriteGathersItsSegmentsInOrder) {
  a().Put(100, "one ");
  a().Put(0, "two ");
  a().Put(3000, "three");
  const Segment segments[] = {a().Local(100, 4), a().Local(0, 0), a().Local(0, 4), {}, a().Local(3000, 5)};
  ASSERT_TRUE(Post(*a().queue_pair, Request(Opcode::kWrite, segments, b().Remote(9))).ok());
  EXPECT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
  EXPECT_EQ(b().Get(9, 13), "one two three");
}

// Alignment and length decide how fabrics cut a WRITE; none of it may show.
TEST_P(OneSided, WriteTouchesItsRangeAndNothingElse) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 200; ++round) {
    const size_t from = random() % 64;
    const size_t to = 64 + random() % 64;
    const size_t size = round < 64 ? round : random() % 3000;
    SCOPED_TRACE(testing::Message() << size << " bytes from " << from << " to " << to);
    std::memset(b().at(0), '-', 4096);
    for (size_t i = 0; i < size; ++i) *a().at(from + i) = static_cast<std::byte>(random());
    ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, a().Local(from, size), b().Remote(to)).ok());
    ASSERT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
    ASSERT_EQ(b().Get(to, size), a().Get(from, size));
    ASSERT_EQ(b().Get(0, to), std::string(to, '-'));
    ASSERT_EQ(b().Get(to + size, 4096 - to - size), std::string(4096 - to - size, '-'));
  }
}

TEST_P(OneSided, ReadScattersIntoItsSegmentsInOrder) {
  b().Put(40, "readable bytes");
  std::memset(a().at(0), '-', 64);
  const Segment segments[] = {a().Local(20, 8), a().Local(30, 0), a().Local(0, 6)};
  ASSERT_TRUE(Post(*a().queue_pair, Request(Opcode::kRead, segments, b().Remote(40), 5)).ok());
  const Completion done = PollOne(a());
  EXPECT_EQ(done.id, 5u);
  EXPECT_EQ(done.status, CompletionStatus::kSuccess);
  EXPECT_EQ(done.opcode, Opcode::kRead);
  EXPECT_EQ(done.bytes, 14u);
  EXPECT_EQ(a().Get(0, 30), " bytes--------------readable--");
  EXPECT_EQ(b().Get(40, 14), "readable bytes");
}

TEST_P(OneSided, LocalAccessNeedsNoFlag) {
  auto region = a().device->Allocate(4096, kLocalOnly);
  ASSERT_TRUE(region.ok()) << region.status();
  const Segment local{(*region)->bytes().data(), 8, (*region)->lkey()};
  b().PutWord(0, 1234);
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kRead, local, b().Remote(0), 1).ok());
  EXPECT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, local, b().Remote(8), 2).ok());
  EXPECT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
  EXPECT_EQ(b().GetWord(8), 1234u);
}

TEST_P(OneSided, AMegabyteGoesAndComesBack) {
  const size_t size = std::min<uint64_t>((1 << 20) + 13, a().device->capabilities().max_message_bytes);
  End big_a(a().device, size + 16);
  End big_b(b().device, size + 16);
  std::mt19937_64 random(9);
  for (size_t i = 0; i < size; ++i) *big_a.at(i + 3) = static_cast<std::byte>(random());
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, big_a.Local(3, size), big_b.Remote(1), 1).ok());
  const std::string sent = big_a.Get(3, size);
  ASSERT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
  EXPECT_EQ(big_b.Get(1, size), sent);

  std::memset(big_a.at(0), 0, size + 16);
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kRead, big_a.Local(7, size), big_b.Remote(1), 2).ok());
  const Completion done = PollOne(a());
  ASSERT_EQ(done.status, CompletionStatus::kSuccess);
  EXPECT_EQ(done.bytes, size);
  EXPECT_EQ(big_a.Get(7, size), sent);
}

TEST_P(OneSided, WriteWithImmediateConsumesReceivesInOrder) {
  std::memset(b().at(1024), '-', 256);
  for (uint64_t id : {11, 12, 13}) ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(1024, 64), id).ok());
  ASSERT_TRUE(PostReceive(*b().queue_pair, Segment{}, 14).ok());
  for (size_t i = 0; i < 4; ++i) {
    a().Put(0, std::string(8 + i, static_cast<char>('a' + i)));
    const Segment local = a().Local(0, 8 + i);
    SendRequest request = Request(Opcode::kWriteWithImmediate, {&local, 1}, b().Remote(i * 16), i);
    request.immediate = static_cast<uint32_t>(0xdeadbe00 + i);
    ASSERT_TRUE(Post(*a().queue_pair, request).ok());
    const Completion sent = PollOne(a());
    EXPECT_EQ(sent.status, CompletionStatus::kSuccess);
    EXPECT_EQ(sent.opcode, Opcode::kWriteWithImmediate);

    const Completion received = PollOne(b());
    EXPECT_EQ(received.id, 11u + i);
    EXPECT_EQ(received.status, CompletionStatus::kSuccess);
    EXPECT_EQ(received.opcode, Opcode::kReceiveWithImmediate);
    EXPECT_EQ(received.immediate, 0xdeadbe00 + i);
    EXPECT_EQ(received.bytes, 8u + i);
    EXPECT_EQ(received.queue_pair, b().queue_pair.get());
    EXPECT_EQ(b().Get(i * 16, 8 + i), std::string(8 + i, static_cast<char>('a' + i)));
  }
  EXPECT_EQ(b().Get(1024, 256), std::string(256, '-')) << "a buffer was written";
  ExpectQuiet();
}

TEST_P(OneSided, WriteWithImmediateWaitsForAReceive) {
  a().Put(0, "patience");
  const Segment local = a().Local(0, 8);
  SendRequest request = Request(Opcode::kWriteWithImmediate, {&local, 1}, b().Remote(0), 3);
  request.immediate = 42;
  ASSERT_TRUE(Post(*a().queue_pair, request).ok());
  ExpectQuiet();
  ASSERT_TRUE(PostReceive(*b().queue_pair, Segment{}, 4).ok());
  EXPECT_EQ(PollOne(b()).immediate, 42u);
  EXPECT_EQ(PollOne(a()).id, 3u);
  EXPECT_EQ(b().Get(0, 8), "patience");
}

TEST_P(OneSided, WriteWithImmediateMayCarryNoBytes) {
  ASSERT_TRUE(PostReceive(*b().queue_pair, Segment{}, 1).ok());
  SendRequest request = Request(Opcode::kWriteWithImmediate, {}, b().Remote(0), 2);
  request.immediate = 7;
  ASSERT_TRUE(Post(*a().queue_pair, request).ok());
  const Completion received = PollOne(b());
  EXPECT_EQ(received.opcode, Opcode::kReceiveWithImmediate);
  EXPECT_EQ(received.immediate, 7u);
  EXPECT_EQ(received.bytes, 0u);
  EXPECT_EQ(PollOne(a()).id, 2u);
}

TEST_P(OneSided, FetchAddGivesTheOldValueAndWraps) {
  b().PutWord(64, std::numeric_limits<uint64_t>::max() - 1);
  const uint64_t expected[] = {std::numeric_limits<uint64_t>::max() - 1, 3, 8};
  for (uint64_t old : expected) {
    const Segment local = a().Local(16, 8);
    SendRequest request = Request(Opcode::kFetchAdd, {&local, 1}, b().Remote(64));
    request.operand = 5;
    ASSERT_TRUE(Post(*a().queue_pair, request).ok());
    const Completion done = PollOne(a());
    EXPECT_EQ(done.status, CompletionStatus::kSuccess);
    EXPECT_EQ(done.opcode, Opcode::kFetchAdd);
    EXPECT_EQ(done.bytes, 8u);
    EXPECT_EQ(a().GetWord(16), old);
  }
  EXPECT_EQ(b().GetWord(64), 13u);
  EXPECT_EQ(b().GetWord(56), 0u);
  EXPECT_EQ(b().GetWord(72), 0u);
}

TEST_P(OneSided, CompareSwapSwapsOnlyWhatItExpected) {
  b().PutWord(64, 10);
  struct {
    uint64_t expected, swap, after;
  } const steps[] = {{10, 20, 20}, {10, 30, 20}, {20, 40, 40}};
  for (const auto& step : steps) {
    const uint64_t before = b().GetWord(64);
    const Segment local = a().Local(16, 8);
    SendRequest request = Request(Opcode::kCompareSwap, {&local, 1}, b().Remote(64));
    request.operand = step.expected;
    request.swap = step.swap;
    ASSERT_TRUE(Post(*a().queue_pair, request).ok());
    const Completion done = PollOne(a());
    EXPECT_EQ(done.status, CompletionStatus::kSuccess);
    EXPECT_EQ(done.opcode, Opcode::kCompareSwap);
    EXPECT_EQ(done.bytes, 8u);
    EXPECT_EQ(a().GetWord(16), before);
    EXPECT_EQ(b().GetWord(64), step.after);
  }
}

TEST_P(OneSided, AtomicsOfManyQueuePairsAllCount) {
  constexpr size_t kConnections = 8;
  constexpr size_t kEach = 16;
  std::vector<Connection> connections;
  connections.reserve(kConnections);
  for (size_t i = 0; i < kConnections; ++i) connections.push_back(NewConnection());
  for (size_t round = 0; round < kEach; ++round) {
    for (size_t i = 0; i < kConnections; ++i) {
      const Segment local = a().Local(4096 + 8 * (round * kConnections + i), 8);
      SendRequest request = Request(Opcode::kFetchAdd, {&local, 1}, b().Remote(0));
      request.operand = 1;
      ASSERT_TRUE(Post(*connections[i].a, request).ok());
    }
  }
  EXPECT_THAT(Statuses(PollUntil(a(), kConnections * kEach)), Each(CompletionStatus::kSuccess));
  EXPECT_EQ(b().GetWord(0), kConnections * kEach);
  absl::flat_hash_set<uint64_t> found;
  for (size_t i = 0; i < kConnections * kEach; ++i) {
    const uint64_t old = a().GetWord(4096 + 8 * i);
    EXPECT_LT(old, kConnections * kEach);
    EXPECT_TRUE(found.insert(old).second) << "two additions saw " << old;
  }
}

TEST_P(OneSided, WorksInBothDirectionsAtOnce) {
  for (size_t i = 0; i < 20; ++i) {
    a().PutWord(8 * i, 1000 + i);
    b().PutWord(8 * i, 2000 + i);
    ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, a().Local(8 * i, 8), b().Remote(4096 + 8 * i)).ok());
    ASSERT_TRUE(Post(*b().queue_pair, Opcode::kWrite, b().Local(8 * i, 8), a().Remote(4096 + 8 * i)).ok());
  }
  EXPECT_THAT(Statuses(PollUntil(a(), 20)), Each(CompletionStatus::kSuccess));
  EXPECT_THAT(Statuses(PollUntil(b(), 20)), Each(CompletionStatus::kSuccess));
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(b().GetWord(4096 + 8 * i), 1000u + i);
    EXPECT_EQ(a().GetWord(4096 + 8 * i), 2000u + i);
  }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, OneSided, EveryFabric(), FabricName);

}  // namespace
}  // namespace skein::fabric
