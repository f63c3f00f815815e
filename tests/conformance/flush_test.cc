// FLUSH, on fabrics that offer it; and what the others say.
#include <string>

#include "core/fabric/requests.h"
#include "tests/conformance/conformance.h"

namespace skein::fabric {
namespace {

constexpr uint32_t kFlushed = kAllAccess | kRemoteFlush;

class Flushes : public Conformance {
 protected:
  static SendRequest Flush(RemoteAddress remote, uint64_t bytes, uint64_t id = 1,
                           Placement placement = Placement::kVisible) {
    SendRequest request = Request(Opcode::kFlush, {}, remote, id);
    request.operand = bytes;
    request.placement = placement;
    return request;
  }
  static QueuePairOptions Options(Side& side, bool flushes) {
    QueuePairOptions options;
    options.send_queue = options.receive_queue = side.queue.get();
    options.flushes = flushes;
    return options;
  }
  // Queue pairs of which each is made for FLUSHes or not.
  Connection ConnectionFor(bool flushes_a = true, bool flushes_b = true) {
    Connection made{a().device->CreateQueuePair(Options(a(), flushes_a)).value(),
                    b().device->CreateQueuePair(Options(b(), flushes_b)).value()};
    EXPECT_TRUE(Connect(*made.a, *made.b).ok());
    return made;
  }
  bool offered() { return a().device->capabilities().flush && b().device->capabilities().flush; }
  bool offered_persistent() {
    return a().device->capabilities().flush_persistent && b().device->capabilities().flush_persistent;
  }
  std::unique_ptr<MemoryRegion> Memory(uint32_t access = kFlushed, size_t bytes = 1 << 16) {
    auto region = b().device->Allocate(bytes, access);
    EXPECT_TRUE(region.ok()) << region.status();
    return region.ok() ? *std::move(region) : nullptr;
  }
  static RemoteAddress After(RemoteAddress remote, uint64_t offset) {
    remote.address += offset;
    return remote;
  }
};

TEST_P(Flushes, ADeviceWithoutThemSaysSo) {
  if (offered()) GTEST_SKIP() << "it has them";
  EXPECT_EQ(a().device->CreateQueuePair(Options(a(), true)).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(a().device->Allocate(4096, kFlushed).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(a().device->Allocate(4096, kRemoteFlushPersistent).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Post(*a().queue_pair, Flush(b().Remote(0), 8)).code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(Flushes, EndsBehindWhatWasPostedBeforeIt) {
  if (!offered()) GTEST_SKIP() << "not offered";
  const std::unique_ptr<MemoryRegion> memory = Memory();
  const Connection connection = ConnectionFor();
  for (uint64_t round = 1; round <= 50; ++round) {
    a().PutWord(0, round);
    a().PutWord(8, ~round);
    const Segment first = a().Local(0, 8);
    const Segment second = a().Local(8, 8);
    SendRequest batch[] = {Request(Opcode::kWrite, {&first, 1}, memory->remote(), 1, /*signaled=*/false),
                           Request(Opcode::kWrite, {&second, 1}, After(memory->remote(), 4096), 2, /*signaled=*/false),
                           Flush(memory->remote(), 4104, round)};
    ASSERT_TRUE(connection.a->PostSend(batch).ok());
    const Completion done = PollOne(a());
    ASSERT_EQ(done.status, CompletionStatus::kSuccess);
    EXPECT_EQ(done.opcode, Opcode::kFlush);
    EXPECT_EQ(done.id, round);
    EXPECT_EQ(done.bytes, 0u);
    EXPECT_EQ(done.queue_pair, connection.a.get());
    uint64_t there[2];
    std::memcpy(&there[0], memory->bytes().data(), 8);
    std::memcpy(&there[1], memory->bytes().data() + 4096, 8);
    EXPECT_EQ(there[0], round);
    EXPECT_EQ(there[1], ~round);
  }
  ExpectQuiet();
}

// Each kind of request keeps its meaning, and its place, in a batch with FLUSHes; so do several segments and what goes
// inline.
TEST_P(Flushes, AmongAllOtherRequests) {
  if (!offered()) GTEST_SKIP() << "not offered";
  const std::unique_ptr<MemoryRegion> memory = Memory();
  const Connection connection = ConnectionFor();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(PostReceive(*connection.b, b().Local(i * 4096, 64), 70 + i).ok());
  a().Put(0, "gathered from three pieces");
  a().Put(4096, std::string(3000, 'l'));
  a().PutWord(8192, 0);
  const Segment pieces[] = {a().Local(0, 9), a().Local(9, 5), a().Local(14, 12)};
  const Segment three = a().Local(0, 8);
  const Segment long_one = a().Local(4096, 3000);
  const Segment landing = a().Local(16384, 3000);
  const Segment old = a().Local(8192, 8);
  const Segment older = a().Local(8200, 8);
  const RemoteAddress at = memory->remote();
  SendRequest with_immediate = Request(Opcode::kWriteWithImmediate, {&three, 1}, After(at, 128), 4);
  with_immediate.immediate = 77;
  SendRequest add = Request(Opcode::kFetchAdd, {&old, 1}, After(at, 8192), 6);
  add.operand = 5;
  SendRequest swap = Request(Opcode::kCompareSwap, {&older, 1}, After(at, 8192), 7);
  swap.operand = 5;
  swap.swap = 9;
  SendRequest batch[] = {Request(Opcode::kWrite, pieces, at, 1),
                         Flush(at, 64, 2),
                         Request(Opcode::kSend, pieces, {}, 3),
                         with_immediate,
                         Request(Opcode::kWrite, {&long_one, 1}, After(at, 4096), 5),
                         add,
                         swap,
                         Flush(After(at, 4096), 4104, 8),
                         Request(Opcode::kRead, {&landing, 1}, After(at, 4096), 9),
                         Flush(at, 1, 10)};
  ASSERT_TRUE(connection.a->PostSend(batch).ok());
  const std::vector<Completion> done = PollUntil(a(), std::size(batch));
  ASSERT_EQ(done.size(), std::size(batch));
  for (size_t i = 0; i < done.size(); ++i) {
    EXPECT_EQ(done[i].status, CompletionStatus::kSuccess) << OpcodeName(done[i].opcode);
    EXPECT_EQ(done[i].id, i + 1);
    EXPECT_EQ(done[i].opcode, batch[i].opcode);
  }
  const std::vector<Completion> received = PollUntil(b(), 2);
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].opcode, Opcode::kReceive);
  EXPECT_EQ(received[0].bytes, 26u);
  EXPECT_EQ(b().Get(0, 26), "gathered from three pieces");
  EXPECT_EQ(received[1].immediate, 77u);
  const std::string there(reinterpret_cast<const char*>(memory->bytes().data()), memory->bytes().size());
  EXPECT_EQ(there.substr(0, 26), "gathered from three pieces");
  EXPECT_EQ(there.substr(128, 8), "gathered");
  EXPECT_EQ(there.substr(4096, 3000), std::string(3000, 'l'));
  EXPECT_EQ(a().Get(16384, 3000), std::string(3000, 'l'));
  EXPECT_EQ(a().GetWord(8192), 0u);
  EXPECT_EQ(a().GetWord(8200), 5u);
  ExpectQuiet();
}

TEST_P(Flushes, UnsignaledOnesReportNothing) {
  if (!offered()) GTEST_SKIP() << "not offered";
  const std::unique_ptr<MemoryRegion> memory = Memory();
  const Connection connection = ConnectionFor();
  for (uint64_t round = 0; round < 20; ++round) {
    std::vector<SendRequest> batch(16, Flush(memory->remote(), 64));
    for (SendRequest& flush : batch) flush.signaled = false;
    batch.back().signaled = true;
    batch.back().id = round;
    ASSERT_TRUE(connection.a->PostSend(batch).ok());
    EXPECT_EQ(PollOne(a()).id, round);
  }
  ExpectQuiet();
}

TEST_P(Flushes, WhatMayNotBePosted) {
  if (!offered()) GTEST_SKIP() << "not offered";
  const Connection connection = ConnectionFor();
  const Segment local = a().Local(0, 8);
  SendRequest with_bytes = Flush(b().Remote(0), 8);
  with_bytes.local = {&local, 1};
  EXPECT_EQ(Post(*connection.a, with_bytes).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Post(*connection.a, Flush(b().Remote(0), 0)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Post(*connection.a, Flush(b().Remote(0), kMostFlushBytes + 1)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Post(*a().queue_pair, Flush(b().Remote(0), 8)).code(), absl::StatusCode::kInvalidArgument)
      << "it was not made for FLUSHes";
  EXPECT_EQ(connection.a->state(), QueuePairState::kReady);
  ExpectQuiet();
}

TEST_P(Flushes, WhatThePeerHasNotAllowed) {
  if (!offered()) GTEST_SKIP() << "not offered";
  const std::unique_ptr<MemoryRegion> memory = Memory();
  const std::unique_ptr<MemoryRegion> not_flushed = Memory(kAllAccess);
  const size_t size = memory->bytes().size();
  RemoteAddress unknown = memory->remote();
  unknown.rkey ^= 0x40000000u;
  std::vector<SendRequest> refused = {Flush(unknown, 8), Flush(not_flushed->remote(), 8),
                                      Flush(memory->remote(), size + 1), Flush(After(memory->remote(), size - 7), 8),
                                      Flush(After(memory->remote(), ~uint64_t{7}), 8)};
  if (offered_persistent()) refused.push_back(Flush(memory->remote(), 8, 1, Placement::kPersistent));
  for (size_t i = 0; i < refused.size(); ++i) {
    SCOPED_TRACE(i);
    const Connection connection = ConnectionFor();
    ASSERT_TRUE(Post(*connection.a, refused[i]).ok());
    EXPECT_EQ(PollOne(a()).status, CompletionStatus::kRemoteAccessError);
    EXPECT_EQ(connection.a->state(), QueuePairState::kError);
  }
  const Connection one_sided = ConnectionFor(/*flushes_a=*/true, /*flushes_b=*/false);
  ASSERT_TRUE(Post(*one_sided.a, Flush(memory->remote(), 8)).ok());
  EXPECT_EQ(PollOne(a()).status, CompletionStatus::kRemoteAccessError) << "the peer's was not made for FLUSHes";
}

TEST_P(Flushes, OrdinaryMemoryIsNotPersistent) {
  if (!offered_persistent()) GTEST_SKIP() << "not offered";
  EXPECT_EQ(b().device->Allocate(4096, kAllAccess | kRemoteFlushPersistent).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_P(Flushes, PersistentMemoryIsFlushedToBoth) {
  const absl::Span<std::byte> bytes = fabric().PersistentMemory();
  if (!offered_persistent() || bytes.empty()) GTEST_SKIP() << "not offered, or no memory for it";
  const auto region = b().device->Register(bytes, kFlushed | kRemoteFlushPersistent);
  ASSERT_TRUE(region.ok()) << region.status();
  const Connection connection = ConnectionFor();
  for (const Placement placement : {Placement::kVisible, Placement::kPersistent}) {
    a().Put(0, placement == Placement::kVisible ? "to be seen" : "to be kept");
    const Segment local = a().Local(0, 10);
    SendRequest batch[] = {Request(Opcode::kWrite, {&local, 1}, After((*region)->remote(), 4090), 1, false),
                           Flush(After((*region)->remote(), 4090), 10, 2, placement)};
    ASSERT_TRUE(connection.a->PostSend(batch).ok());
    const Completion done = PollOne(a());
    EXPECT_EQ(done.id, 2u);
    EXPECT_EQ(done.status, CompletionStatus::kSuccess);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()) + 4090, 10), a().Get(0, 10));
  }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, Flushes, EveryFabric(), FabricName);

}  // namespace
}  // namespace skein::fabric
