// The failures a Simulation can be asked for.
#include "absl/functional/function_ref.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/fabric_sim/pair.h"

namespace skein::fabric {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

class Faults : public testing::Test {
 protected:
  static constexpr uint64_t kSeed = 20262;

  explicit Faults(const SimConfig& config = {}) : simulation_(kSeed, config), pair_(simulation_) {}
  void SetUp() override { ASSERT_TRUE(pair_.status.ok()) << pair_.status; }

  absl::Status WriteFromA(uint64_t id) {
    return Post(*pair_.a.queue_pair, Opcode::kWrite, pair_.a.Local(0, 8), pair_.b.Remote(0), id);
  }
  // How long `what` takes in simulated time.
  absl::Duration Time(absl::FunctionRef<void()> what) {
    const absl::Time start = simulation_.now();
    what();
    return simulation_.now() - start;
  }

  Simulation simulation_;
  Pair pair_;
};

TEST_F(Faults, RequestsToAKilledDeviceEndInRetryExceeded) {
  ASSERT_TRUE(WriteFromA(1).ok());
  simulation_.RunUntilIdle();
  ASSERT_THAT(Statuses(pair_.a.Poll()), ElementsAre(CompletionStatus::kSuccess));

  simulation_.KillDevice("b");
  simulation_.RunUntilIdle();
  EXPECT_EQ(pair_.a.queue_pair->RefreshState(), QueuePairState::kReady) << "it dies silently";
  ASSERT_TRUE(WriteFromA(2).ok());
  ASSERT_TRUE(WriteFromA(3).ok());
  const absl::Duration taken = Time([&] { simulation_.RunUntilIdle(); });
  EXPECT_GE(taken, SimConfig{}.retry_time);
  EXPECT_LT(taken, 2 * SimConfig{}.retry_time);
  const auto failed = pair_.a.Poll();
  EXPECT_THAT(Ids(failed), ElementsAre(2, 3));
  EXPECT_THAT(Statuses(failed), ElementsAre(CompletionStatus::kRetryExceeded, CompletionStatus::kFlushed));
  EXPECT_EQ(pair_.a.queue_pair->state(), QueuePairState::kError);
  EXPECT_EQ(pair_.a.queue_pair->error().code(), absl::StatusCode::kUnavailable);
}

TEST_F(Faults, WhoAsksHearsThatItsPeerIsGone) {
  simulation_.KillDevice("b");
  EXPECT_EQ(pair_.a.queue_pair->RefreshState(), QueuePairState::kReady) << "the retry time tells";
  simulation_.RunUntilIdle();
  EXPECT_EQ(pair_.a.queue_pair->RefreshState(), QueuePairState::kError);
  EXPECT_EQ(pair_.a.queue_pair->error().code(), absl::StatusCode::kUnavailable);
}

TEST_F(Faults, WhoAsksInAPartitionThatHealsHearsNothing) {
  simulation_.Partition("a", "b");
  pair_.a.queue_pair->RefreshState();
  simulation_.RunFor(SimConfig{}.retry_time / 2);
  simulation_.Heal("a", "b");
  simulation_.RunUntilIdle();
  EXPECT_EQ(pair_.a.queue_pair->RefreshState(), QueuePairState::kReady);
}

TEST_F(Faults, ThatThePeerHasClosedIsHeardWhenThePartitionHeals) {
  simulation_.Partition("a", "b");
  pair_.b.queue_pair->Close();
  simulation_.RunUntilIdle();
  EXPECT_EQ(pair_.a.queue_pair->state(), QueuePairState::kReady);
  simulation_.Heal("a", "b");
  EXPECT_EQ(pair_.a.queue_pair->state(), QueuePairState::kError);
  EXPECT_EQ(pair_.a.queue_pair->error().message(), "the peer closed the connection");
}

TEST_F(Faults, AKilledDeviceIsDeadForItsUser) {
  simulation_.KillDevice("b");
  EXPECT_EQ(pair_.b.queue_pair->state(), QueuePairState::kError);
  EXPECT_EQ(pair_.b.device->Allocate(1, kLocalOnly).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(pair_.b.device->CreateCompletionQueue(1).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(Faults, AKilledDeviceComesBackAsAnotherOfItsName) {
  const RemoteAddress before = pair_.b.Remote(0);
  simulation_.KillDevice("b");
  End reborn(simulation_.CreateDevice("b"));
  EXPECT_NE(reborn.device, pair_.b.device);
  const auto to_reborn = pair_.a.NewQueuePair();
  ASSERT_TRUE(Connect(*to_reborn, *reborn.queue_pair).ok());
  pair_.a.PutWord(0, 5);
  ASSERT_TRUE(Post(*to_reborn, Opcode::kWrite, pair_.a.Local(0, 8), reborn.Remote(0), 1).ok());
  ASSERT_TRUE(Post(*to_reborn, Opcode::kWrite, pair_.a.Local(0, 8), before, 2).ok());
  simulation_.RunUntilIdle();
  EXPECT_THAT(Statuses(pair_.a.Poll()), ElementsAre(CompletionStatus::kSuccess, CompletionStatus::kRemoteAccessError))
      << "keys of the old life open nothing";
  EXPECT_EQ(reborn.GetWord(0), 5u);
}

TEST_F(Faults, WhatIsOnTheWireOutlivesItsSender) {
  pair_.a.PutWord(0, 5);
  ASSERT_TRUE(WriteFromA(1).ok());
  simulation_.RunFor(absl::Microseconds(1));  // sent, and not there yet
  ASSERT_EQ(pair_.b.GetWord(0), 0u);
  simulation_.KillDevice("a");
  EXPECT_THAT(Statuses(pair_.a.Poll()), ElementsAre(CompletionStatus::kFlushed));
  simulation_.RunUntilIdle();
  EXPECT_EQ(pair_.b.GetWord(0), 5u);
}

TEST_F(Faults, AHealedPartitionLosesNothing) {
  pair_.a.PutWord(0, 5);
  simulation_.Partition("a", "b");
  for (uint64_t id = 1; id <= 5; ++id) ASSERT_TRUE(WriteFromA(id).ok());
  simulation_.RunFor(SimConfig{}.retry_time / 2);
  EXPECT_THAT(pair_.a.Poll(), IsEmpty());
  EXPECT_EQ(pair_.b.GetWord(0), 0u);

  simulation_.Heal("b", "a");
  simulation_.RunUntilIdle();
  const auto done = pair_.a.Poll();
  EXPECT_THAT(Ids(done), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Statuses(done), Each(CompletionStatus::kSuccess));
  EXPECT_EQ(pair_.b.GetWord(0), 5u);
}

TEST_F(Faults, APartitionThatLastsEndsInRetryExceeded) {
  simulation_.Partition("a", "b");
  ASSERT_TRUE(WriteFromA(1).ok());
  simulation_.RunUntilIdle();
  EXPECT_THAT(Statuses(pair_.a.Poll()), ElementsAre(CompletionStatus::kRetryExceeded));
  EXPECT_EQ(pair_.b.queue_pair->state(), QueuePairState::kReady) << "b has asked for nothing and knows nothing";
  simulation_.Heal("a", "b");
  simulation_.RunUntilIdle();
  EXPECT_EQ(pair_.b.GetWord(0), 0u) << "given up is given up";
}

TEST_F(Faults, APartitionedAnswerIsAFailureWhoseEffectIsThere) {
  pair_.a.PutWord(0, 5);
  ASSERT_TRUE(WriteFromA(1).ok());
  while (pair_.b.GetWord(0) == 0) ASSERT_TRUE(simulation_.Step());
  simulation_.Partition("a", "b");
  simulation_.RunUntilIdle();
  EXPECT_THAT(Statuses(pair_.a.Poll()), ElementsAre(CompletionStatus::kRetryExceeded));
}

TEST_F(Faults, PartitionsAreBetweenTwo) {
  End c(simulation_.CreateDevice("c"));
  const auto to_c = pair_.a.NewQueuePair();
  ASSERT_TRUE(Connect(*to_c, *c.queue_pair).ok());
  simulation_.Partition("a", "b");
  ASSERT_TRUE(Post(*to_c, Opcode::kWrite, pair_.a.Local(0, 8), c.Remote(0), 1).ok());
  simulation_.RunUntilIdle();
  EXPECT_THAT(Statuses(pair_.a.Poll()), ElementsAre(CompletionStatus::kSuccess));
}

TEST_F(Faults, AFailedQueuePairIsFoundOutByThePeersRequests) {
  ASSERT_TRUE(PostReceive(*pair_.b.queue_pair, pair_.b.Local(0, 8), 9).ok());
  ASSERT_TRUE(Post(*pair_.b.queue_pair, Opcode::kSend, pair_.b.Local(0, 8), {}, 10).ok());
  ASSERT_TRUE(simulation_.FailQueuePair(pair_.b.queue_pair.get()));
  EXPECT_EQ(pair_.b.queue_pair->state(), QueuePairState::kReady) << "in an event of its own";
  simulation_.RunUntilIdle();
  EXPECT_EQ(pair_.b.queue_pair->state(), QueuePairState::kError);
  EXPECT_FALSE(pair_.b.queue_pair->error().ok());
  const auto failed = pair_.b.Poll();
  EXPECT_THAT(Ids(failed), ElementsAre(10, 9));
  EXPECT_THAT(Statuses(failed), ElementsAre(CompletionStatus::kFatal, CompletionStatus::kFlushed));

  EXPECT_EQ(pair_.a.queue_pair->state(), QueuePairState::kReady);
  ASSERT_TRUE(WriteFromA(1).ok());
  simulation_.RunUntilIdle();
  EXPECT_THAT(Statuses(pair_.a.Poll()), ElementsAre(CompletionStatus::kRetryExceeded));
}

TEST_F(Faults, OnlyOwnQueuePairsCanBeFailed) {
  Simulation other(kSeed);
  const Pair foreign(other);
  EXPECT_FALSE(simulation_.FailQueuePair(foreign.a.queue_pair.get()));
  EXPECT_FALSE(simulation_.FailQueuePair(nullptr));
}

TEST_F(Faults, ACompletionQueueThatOverrunsFailsItsQueuePair) {
  auto small = pair_.a.device->CreateCompletionQueue(2).value();
  QueuePairOptions options;
  options.send_queue = options.receive_queue = small.get();
  auto from = pair_.a.device->CreateQueuePair(options).value();
  const auto to = pair_.b.NewQueuePair();
  ASSERT_TRUE(Connect(*from, *to).ok());
  for (uint64_t id = 1; id <= 4; ++id) {
    ASSERT_TRUE(Post(*from, Opcode::kWrite, pair_.a.Local(0, 8), pair_.b.Remote(0), id).ok());
  }
  simulation_.RunUntilIdle();
  EXPECT_EQ(from->state(), QueuePairState::kError);
  std::vector<Completion> all(16);
  all.resize(small->Poll(absl::MakeSpan(all)));
  EXPECT_THAT(Ids(all), ElementsAre(1, 2, 3, 4)) << "nothing stays uncompleted";
}

TEST_F(Faults, ASourceThatGoesBeforeItIsSentIsFatal) {
  auto source = pair_.a.device->Allocate(4096, kLocalOnly).value();
  const Segment local{source->bytes().data(), 8, source->lkey()};
  ASSERT_TRUE(Post(*pair_.a.queue_pair, Opcode::kWrite, local, pair_.b.Remote(0), 1).ok());
  source.reset();
  simulation_.RunUntilIdle();
  EXPECT_THAT(Statuses(pair_.a.Poll()), ElementsAre(CompletionStatus::kFatal));
}

TEST_F(Faults, AWaitForAReceiveIsNoFailureHoweverLong) {
  ASSERT_TRUE(Post(*pair_.a.queue_pair, Opcode::kSend, pair_.a.Local(0, 8), {}, 1).ok());
  simulation_.RunFor(100 * SimConfig{}.retry_time);
  EXPECT_THAT(pair_.a.Poll(), IsEmpty());
  ASSERT_TRUE(PostReceive(*pair_.b.queue_pair, pair_.b.Local(0, 8)).ok());
  simulation_.RunUntilIdle();
  EXPECT_THAT(Statuses(pair_.a.Poll()), ElementsAre(CompletionStatus::kSuccess));
}

class SilentDeath : public Faults {
 protected:
  static SimConfig Config() {
    SimConfig config;
    config.announce_close = false;
    return config;
  }
  SilentDeath() : Faults(Config()) {}
};

TEST_F(SilentDeath, ACloseIsFoundOutByTheNextRequestOnly) {
  pair_.b.queue_pair->Close();
  simulation_.RunUntilIdle();
  EXPECT_EQ(pair_.a.queue_pair->RefreshState(), QueuePairState::kReady);
  ASSERT_TRUE(WriteFromA(1).ok());
  simulation_.RunUntilIdle();
  EXPECT_THAT(Statuses(pair_.a.Poll()), ElementsAre(CompletionStatus::kRetryExceeded));
}

}  // namespace
}  // namespace skein::fabric
