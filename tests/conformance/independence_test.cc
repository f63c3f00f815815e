// Queue pairs of the same two devices have nothing to do with each other.
#include <map>
#include <utility>

#include "tests/conformance/conformance.h"

namespace skein::fabric {
namespace {

using testing::Each;

using Independence = Conformance;

TEST_P(Independence, EachKeepsItsOwnOrderAndName) {
  constexpr uint64_t kConnections = 16;
  constexpr uint64_t kEach = 20;
  std::vector<Connection> connections;
  connections.reserve(kConnections);
  for (uint64_t i = 0; i < kConnections; ++i) connections.push_back(NewConnection());
  for (uint64_t n = 0; n < kEach; ++n) {
    for (uint64_t i = 0; i < kConnections; ++i) {
      ASSERT_TRUE(PostReceive(*connections[i].b, Segment{}, n).ok());
      const Segment local = a().Local(0, 8);
      SendRequest request = Request(Opcode::kWriteWithImmediate, {&local, 1}, b().Remote(8 * i), n);
      request.immediate = static_cast<uint32_t>(i * 1000 + n);
      ASSERT_TRUE(Post(*connections[i].a, request).ok());
    }
  }
  std::map<const QueuePair*, std::vector<uint64_t>> sent;
  std::map<const QueuePair*, std::vector<uint64_t>> received;
  for (const Completion& done : PollUntil(a(), kConnections * kEach)) {
    EXPECT_EQ(done.status, CompletionStatus::kSuccess);
    sent[done.queue_pair].push_back(done.id);
  }
  for (const Completion& done : PollUntil(b(), kConnections * kEach)) {
    received[done.queue_pair].push_back(done.immediate);
    EXPECT_EQ(done.id, done.immediate % 1000);
  }
  for (uint64_t i = 0; i < kConnections; ++i) {
    std::vector<uint64_t> ids;
    std::vector<uint64_t> immediates;
    for (uint64_t n = 0; n < kEach; ++n) {
      ids.push_back(n);
      immediates.push_back(i * 1000 + n);
    }
    EXPECT_EQ(sent[connections[i].a.get()], ids);
    EXPECT_EQ(received[connections[i].b.get()], immediates);
  }
}

TEST_P(Independence, OneThatWaitsHoldsNoOther) {
  const Connection waiting = NewConnection();
  ASSERT_TRUE(Post(*waiting.a, Opcode::kSend, a().Local(0, 8), {}, 1).ok());
  ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(0, 8), 2).ok());
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kSend, a().Local(0, 8), {}, 3).ok());
  EXPECT_EQ(PollOne(a()).id, 3u);
  EXPECT_EQ(PollOne(b()).id, 2u);
  ExpectQuiet();
}

TEST_P(Independence, OneThatFailsHurtsNoOther) {
  const Connection failing = NewConnection();
  const Connection closing = NewConnection();
  const Connection witness = NewConnection();
  RemoteAddress nowhere = b().Remote(0);
  ++nowhere.rkey;
  ASSERT_TRUE(PostReceive(*witness.b, b().Local(64, 8), 1).ok());
  ASSERT_TRUE(Post(*failing.a, Opcode::kWrite, a().Local(0, 8), nowhere, 2).ok());
  EXPECT_EQ(PollOne(a()).status, CompletionStatus::kRemoteAccessError);
  closing.a->Close();
  Pump();

  for (QueuePair* unhurt : {witness.a.get(), witness.b.get(), a().queue_pair.get(), b().queue_pair.get()}) {
    EXPECT_EQ(unhurt->RefreshState(), QueuePairState::kReady);
    EXPECT_TRUE(unhurt->error().ok()) << unhurt->error();
  }
  ASSERT_TRUE(Post(*witness.a, Opcode::kSend, a().Local(0, 8), {}, 3).ok());
  EXPECT_EQ(PollOne(b()).id, 1u);
  EXPECT_EQ(PollOne(a()).id, 3u);
}

TEST_P(Independence, OneWithAFullSendQueueFillsNoOther) {
  const Connection full = NewConnection(/*max_send=*/1, /*max_receive=*/1);
  ASSERT_TRUE(Post(*full.a, Opcode::kSend, a().Local(0, 8), {}, 1).ok());
  ASSERT_FALSE(Post(*full.a, Opcode::kSend, a().Local(0, 8), {}, 2).ok());
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, a().Local(0, 8), b().Remote(0), 3).ok());
  EXPECT_EQ(PollOne(a()).id, 3u);
}

TEST_P(Independence, AThirdDeviceReachesBoth) {
  auto device = fabric().MakeDevice("c");
  ASSERT_TRUE(device.ok()) << device.status();
  const End c(*std::move(device));
  const auto to_a = c.NewQueuePair();
  const auto to_b = c.NewQueuePair();
  const auto from_c_at_a = a().NewQueuePair();
  const auto from_c_at_b = b().NewQueuePair();
  ASSERT_TRUE(Connect(*to_a, *from_c_at_a).ok());
  ASSERT_TRUE(Connect(*from_c_at_b, *to_b).ok());
  c.PutWord(0, 31);
  c.PutWord(8, 32);
  ASSERT_TRUE(Post(*to_a, Opcode::kWrite, c.Local(0, 8), a().Remote(0), 1).ok());
  ASSERT_TRUE(Post(*to_b, Opcode::kWrite, c.Local(8, 8), b().Remote(0), 2).ok());
  std::vector<Completion> done;
  ASSERT_TRUE(Eventually([&] {
    for (const Completion& completion : c.Poll()) done.push_back(completion);
    return done.size() == 2;
  }));
  EXPECT_THAT(Statuses(done), Each(CompletionStatus::kSuccess));
  EXPECT_EQ(a().GetWord(0), 31u);
  EXPECT_EQ(b().GetWord(0), 32u);
}

INSTANTIATE_TEST_SUITE_P(Fabrics, Independence, EveryFabric(), FabricName);

}  // namespace
}  // namespace skein::fabric
