// A log and its replicas: what is acknowledged, what waits, what is copied, and who may go on.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/logged.h"
#include "tests/unit/durable/replica_hosts.h"

namespace skein::durable {
namespace {

class ReplicasTest : public testing::Test {
 protected:
  static constexpr uint64_t kLogBytes = kRingOffset + 16384;

  // Three hosts, of which 0 is the primary; nothing comes to help while it waits.
  void Start(uint32_t acknowledge) {
    hosts_.emplace(3, acknowledge, kLogBytes, 1);
    StartReplicas();
    StartPrimary(0);
    ASSERT_TRUE(opened_.status.ok()) << opened_.status;
  }
  void StartReplicas() {
    for (const size_t replica : {1, 2}) ASSERT_TRUE(hosts_->StartReplica(replica).ok());
  }
  void StartPrimary(size_t host) {
    StopPrimary();
    auto storage = hosts_->StartPrimary(host, [] { return false; });
    opened_ = {};
    opened_.status = storage.status();
    if (storage.ok()) opened_ = OpenLog(*std::move(storage));
  }
  void StopPrimary() {
    hosts_->StopPrimary();
    opened_.log.reset();
  }
  void TearDown() override { StopPrimary(); }

  absl::Status Log(uint64_t sequence) {
    const absl::StatusOr<uint64_t> position = Append(*opened_.log, sequence, PayloadOf(sequence));
    return position.ok() ? opened_.log->Persist() : position.status();
  }
  void Settle() {
    while (hosts_->Move()) {
    }
  }
  // What a server finds that opens the log of host `i` once that is promoted.
  std::vector<uint64_t> Promoted(size_t i, const std::vector<size_t>& ask) {
    StopPrimary();
    hosts_->StopReplica(i);
    const absl::StatusOr<Promotion> promotion = hosts_->PromoteHost(i, ask);
    EXPECT_TRUE(promotion.ok()) << promotion.status();
    const Logged logged = OpenLog(hosts_->host(i).OpenOrMake(kLogBytes));
    EXPECT_TRUE(logged.status.ok()) << logged.status;
    return logged.sequences;
  }

  std::optional<ReplicaHosts> hosts_;
  Logged opened_;
};

TEST_F(ReplicasTest, EachReplicaHasWhatAllAcknowledge) {
  Start(3);
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) ASSERT_TRUE(Log(sequence).ok());
  EXPECT_EQ(Promoted(1, {}), (std::vector<uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(Promoted(2, {}), (std::vector<uint64_t>{1, 2, 3, 4, 5}));
}

TEST_F(ReplicasTest, OneReplicaMayBeAwayWhereTwoLogsAreEnough) {
  Start(2);
  hosts_->StopReplica(1);
  Settle();
  EXPECT_TRUE(Log(1).ok());
  hosts_->StopReplica(2);
  Settle();
  const absl::Status alone = Log(2);
  EXPECT_TRUE(absl::IsUnavailable(alone)) << alone;
  EXPECT_THAT(std::string(alone.message()), testing::HasSubstr("only 1 of 3 logs have it, and 2 must"));
  EXPECT_THAT(std::string(alone.message()), testing::HasSubstr("host 1"));
}

TEST_F(ReplicasTest, ALogThatMayNotAcknowledgeIsNotOpened) {
  hosts_.emplace(3, 2, kLogBytes, 1);
  StartPrimary(0);
  EXPECT_TRUE(absl::IsUnavailable(opened_.status)) << opened_.status;
}

TEST_F(ReplicasTest, AReplicaThatReturnsAtOnceGetsWhatItLacks) {
  Start(2);
  ASSERT_TRUE(Log(1).ok());
  Settle();
  const uint64_t before = hosts_->host(1).steps();
  hosts_->Disconnect(1);
  ASSERT_TRUE(Log(2).ok());
  hosts_->ConnectHost(1);
  Settle();
  EXPECT_LT(hosts_->host(1).steps() - before, 6u) << "a copy has more";
  hosts_->Disconnect(2);
  EXPECT_TRUE(Log(3).ok());
  EXPECT_EQ(Promoted(1, {2}), (std::vector<uint64_t>{1, 2, 3}));
}

TEST_F(ReplicasTest, AReplicaThatWasAwayForLongKeepsItsLogUntilTheCopyIsWhole) {
  Start(2);
  ASSERT_TRUE(Log(1).ok());
  Settle();
  hosts_->StopReplica(1);
  Settle();
  for (uint64_t sequence = 2; sequence <= 9; ++sequence) ASSERT_TRUE(Log(sequence).ok());
  ASSERT_TRUE(hosts_->StartReplica(1).ok());
  // Cut off while it copies.
  hosts_->host(1).CrashAt(2, false);
  hosts_->ConnectHost(1);
  Settle();
  ASSERT_TRUE(hosts_->host(1).crashed());
  hosts_->StopReplica(1);
  hosts_->host(1).LosePower();
  const auto state = ReadReplica(*hosts_->host(1).OpenOrMake(kLogBytes));
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_TRUE(hosts_->StartReplica(1).ok());
  hosts_->ConnectHost(1);
  Settle();
  hosts_->StopReplica(2);
  Settle();
  EXPECT_TRUE(Log(10).ok()) << "the copy counts once it is whole";
}

TEST_F(ReplicasTest, ThePrimaryThatWasLeftBehindAcknowledgesNothingMore) {
  Start(2);
  ASSERT_TRUE(Log(1).ok());
  Settle();
  hosts_->StopReplica(1);
  Settle();
  // Host 1 is promoted with the promise of host 2, while host 0 lives.
  const absl::StatusOr<Promotion> promotion = hosts_->PromoteHost(1, {2});
  ASSERT_TRUE(promotion.ok()) << promotion.status();
  EXPECT_EQ(promotion->term.number, 1u);
  EXPECT_EQ(promotion->seen, promotion->needed);
  EXPECT_FALSE(Log(2).ok());
  // Nor does it when it starts anew.
  StartPrimary(0);
  EXPECT_FALSE(opened_.status.ok());
}

TEST_F(ReplicasTest, APromotionThatHasNotSeenEnoughChangesNothing) {
  Start(2);
  ASSERT_TRUE(Log(1).ok());
  Settle();
  hosts_->StopReplica(1);
  Settle();
  const absl::StatusOr<Promotion> unseen = hosts_->PromoteHost(1, {});
  EXPECT_TRUE(absl::IsFailedPrecondition(unseen.status())) << unseen.status();
  EXPECT_TRUE(Log(2).ok()) << "the primary goes on";
  // Now the other replica goes further.
  const absl::StatusOr<Promotion> behind = hosts_->PromoteHost(1, {2});
  EXPECT_TRUE(absl::IsFailedPrecondition(behind.status())) << behind.status();
  EXPECT_THAT(std::string(behind.status().message()), testing::HasSubstr("host 2 goes further"));
  EXPECT_TRUE(Log(3).ok()) << "the primary still goes on";
  EXPECT_TRUE(hosts_->PromoteHost(1, {2}, /*accept_loss=*/true).ok());
}

TEST_F(ReplicasTest, AReplicaWithoutALogIsNoLogThatAPromotionHasLookedAt) {
  Start(2);
  ASSERT_TRUE(Log(1).ok());
  Settle();
  StopPrimary();
  hosts_->StopReplica(1);
  hosts_->StopReplica(2);
  hosts_->host(2).Forget();
  ASSERT_TRUE(hosts_->StartReplica(2).ok());
  const absl::StatusOr<Promotion> promotion = hosts_->PromoteHost(1, {2});
  EXPECT_TRUE(absl::IsFailedPrecondition(promotion.status())) << promotion.status();
  EXPECT_THAT(std::string(promotion.status().message()), testing::HasSubstr("host 2: the replica has no log"));
  EXPECT_TRUE(hosts_->PromoteHost(1, {2}, /*accept_loss=*/true).ok());
}

TEST_F(ReplicasTest, AReplicaThatIsAskedTwiceIsRefusedNotCountedTwice) {
  Start(2);
  StopPrimary();
  hosts_->StopReplica(1);
  EXPECT_TRUE(absl::IsInvalidArgument(hosts_->PromoteHost(1, {2, 2}).status()));
}

TEST_F(ReplicasTest, TheFormerPrimaryFollowsAsAReplicaAndLosesWhatNobodyAcknowledged) {
  Start(3);
  ASSERT_TRUE(Log(1).ok());
  hosts_->StopReplica(2);
  Settle();
  EXPECT_FALSE(Log(2).ok());  // host 0 has it, and perhaps host 1
  StopPrimary();
  ASSERT_TRUE(hosts_->PromoteHost(2, {}).ok());
  for (const size_t replica : {0, 1}) ASSERT_TRUE(hosts_->StartReplica(replica).ok());
  StartPrimary(2);
  ASSERT_TRUE(opened_.status.ok()) << opened_.status;
  EXPECT_EQ(opened_.sequences, (std::vector<uint64_t>{1}));
  ASSERT_TRUE(Log(7).ok());
  EXPECT_EQ(Promoted(0, {}), (std::vector<uint64_t>{1, 7}));
}

TEST_F(ReplicasTest, AReplicaOfAnotherLogIsNotWrittenOver) {
  Start(3);
  ASSERT_TRUE(Log(1).ok());
  StopPrimary();
  // A new log in place of the primary's.
  ReplicaHosts others(1, 1, kLogBytes, 77);
  const auto own = others.host(0).OpenOrMake(kLogBytes);
  const absl::StatusOr<ReplicaRequest> request = PrepareLog(*own, 2, 2);
  ASSERT_TRUE(request.ok()) << request.status();
  const ReplicaAnswer answer = hosts_->replica(1)->Answer(*request);
  EXPECT_TRUE(absl::IsFailedPrecondition(answer.status)) << answer.status;
  EXPECT_THAT(std::string(answer.status.message()), testing::HasSubstr("another log"));
  EXPECT_EQ(answer.standing, Standing()) << "its terms are not for that log's primary";
}

TEST_F(ReplicasTest, AReplicasLogIsNotServedBeforeItIsPromoted) {
  Start(3);
  StopPrimary();
  hosts_->StopReplica(1);
  const Logged logged = OpenLog(hosts_->host(1).OpenOrMake(kLogBytes));
  EXPECT_TRUE(absl::IsFailedPrecondition(logged.status)) << logged.status;
  EXPECT_THAT(std::string(logged.status.message()), testing::HasSubstr("skein durable promote"));
}

}  // namespace
}  // namespace skein::durable
