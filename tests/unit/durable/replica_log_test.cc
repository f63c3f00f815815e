// A replica's log, and what a primary may say to it.
#include <string>

#include "core/durable/log/layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/replica_hosts.h"

namespace skein::durable {
namespace {

class ReplicaLogTest : public testing::Test {
 protected:
  static constexpr uint64_t kLogBytes = kSmallestLog;

  void SetUp() override {
    own_ = primary_.OpenOrMake(kLogBytes);
    request_ = PrepareLog(*own_, 2, 2).value();
    Open();
  }
  void Open() {
    log_.reset();
    log_ = ReplicaLog::Open(host_.place()).value();
  }
  std::string Copy(uint64_t number) {
    std::string bytes(kLogBytes, '\0');
    EXPECT_TRUE(own_->Read(0, absl::MakeSpan(bytes)).ok());
    std::string changes;
    AppendChange(changes, ChangeKind::kCopy, number);
    const absl::string_view piece = bytes;
    AppendBytes(changes, 0, {&piece, 1});
    AppendChange(changes, ChangeKind::kCopied, number);
    return changes;
  }
  static std::string Batch(uint64_t number, uint64_t offset, absl::string_view bytes) {
    std::string changes;
    AppendBytes(changes, offset, {&bytes, 1});
    AppendChange(changes, ChangeKind::kBatch, number);
    return changes;
  }
  std::string BytesAt(uint64_t offset, size_t size) {
    std::string bytes(size, '\0');
    EXPECT_TRUE(host_.OpenOrMake(kLogBytes)->Read(offset, absl::MakeSpan(bytes)).ok());
    return bytes;
  }

  SimulatedHost primary_{1};
  SimulatedHost host_{2};
  std::unique_ptr<Storage> own_;
  ReplicaRequest request_;
  std::unique_ptr<ReplicaLog> log_;
};

TEST_F(ReplicaLogTest, TakesACopyAndThenBatchesInOrder) {
  const ReplicaAnswer answer = log_->Answer(request_);
  ASSERT_TRUE(answer.status.ok()) << answer.status;
  EXPECT_FALSE(answer.has.has_value());
  ASSERT_TRUE(log_->Apply(Copy(4)).ok());
  ASSERT_TRUE(log_->Apply(Batch(5, kRingOffset, "five") + Batch(6, kRingOffset + 4, "six!")).ok());
  EXPECT_EQ(log_->Answer(request_).has, 6u);
  log_.reset();
  EXPECT_EQ(BytesAt(kRingOffset, 8), "fivesix!");
}

TEST_F(ReplicaLogTest, KnowsNotHowFarItWasOnceItsProcessBeganAnew) {
  log_->Answer(request_);
  ASSERT_TRUE(log_->Apply(Copy(4)).ok());
  Open();
  EXPECT_FALSE(log_->Answer(request_).has.has_value());
  EXPECT_EQ(log_->standing().logs, 2u);
}

TEST_F(ReplicaLogTest, APrimaryWritesNeitherTheMagicNorTheStanding) {
  log_->Answer(request_);
  ASSERT_TRUE(log_->Apply(Copy(0)).ok());
  ASSERT_TRUE(log_->Apply(Batch(1, 0, std::string(kRingOffset, 'x'))).ok());
  log_.reset();
  EXPECT_EQ(BytesAt(0, 8), "SKEINREP");
  EXPECT_NE(BytesAt(kStandingOffset, 8), "xxxxxxxx");
  EXPECT_EQ(BytesAt(kStandingOffset + kStandingBytes, 8), "xxxxxxxx");
}

TEST_F(ReplicaLogTest, ChangesOutOfTurnEndTheConnection) {
  std::string gap;
  AppendChange(gap, ChangeKind::kFollow, 9);
  std::string twice;
  AppendChange(twice, ChangeKind::kCopied, 1);
  const struct {
    std::string changes;
    const char* why;
  } cases[] = {{Batch(1, 0, "x"), "no beginning"},
               {gap, "another position"},
               {Copy(4) + Batch(6, kRingOffset, "x"), "a batch is missing"},
               {Copy(4) + Batch(5, kLogBytes - 1, "xx"), "behind the log's end"},
               {Copy(4) + twice, "an end of a copy"},
               {"what is no change", "no change of a log"}};
  for (const auto& each : cases) {
    ASSERT_TRUE(log_->Answer(request_).status.ok());
    const absl::Status status = log_->Apply(each.changes);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(each.why));
    EXPECT_FALSE(log_->Apply(Copy(1)).ok()) << "it follows nobody after that";
  }
  ASSERT_TRUE(log_->Answer(request_).status.ok());
  EXPECT_TRUE(log_->Apply(Copy(1)).ok());
}

TEST_F(ReplicaLogTest, ACopyOfAnotherLogDoesNotTakeTheLogsPlace) {
  log_->Answer(request_);
  SimulatedHost another(9);
  own_ = another.OpenOrMake(kLogBytes);
  ASSERT_TRUE(PrepareLog(*own_, 2, 2).ok());
  EXPECT_TRUE(absl::IsDataLoss(log_->Apply(Copy(1))));
  EXPECT_EQ(log_->standing().logs, 0u);
  own_.reset();
}

TEST_F(ReplicaLogTest, WhoeverHasPromisedFollowsNoEarlierTerm) {
  log_->Answer(request_);
  ASSERT_TRUE(log_->Apply(Copy(4)).ok());
  ReplicaRequest promise = request_;
  promise.verb = ReplicaVerb::kPromise;
  promise.term = {.number = 3, .id = {1}};
  ASSERT_TRUE(log_->Answer(promise).status.ok());
  EXPECT_FALSE(log_->Apply(Batch(5, kRingOffset, "late")).ok());
  Open();
  EXPECT_TRUE(absl::IsFailedPrecondition(log_->Answer(request_).status));
  promise.term.id = {2};
  EXPECT_TRUE(absl::IsFailedPrecondition(log_->Answer(promise).status)) << "the same number, by another promotion";
  promise.term.number = 4;
  EXPECT_TRUE(log_->Answer(promise).status.ok());
}

TEST_F(ReplicaLogTest, WithoutALogItPromisesNothing) {
  ReplicaRequest promise = request_;
  promise.verb = ReplicaVerb::kPromise;
  promise.term.number = 3;
  EXPECT_TRUE(absl::IsFailedPrecondition(log_->Answer(promise).status));
  EXPECT_TRUE(log_->Answer(request_).status.ok()) << "it may follow an earlier term";
}

TEST_F(ReplicaLogTest, AStandingThatWasCutShortLeavesTheFormerOne) {
  log_->Answer(request_);
  ASSERT_TRUE(log_->Apply(Copy(4)).ok());
  ReplicaRequest promise = request_;
  promise.verb = ReplicaVerb::kPromise;
  for (uint64_t number = 1; number < 6; ++number) {
    promise.term = {.number = number, .id = {}};
    host_.CrashAt(number % 2, /*torn=*/true);
    EXPECT_FALSE(log_->Answer(promise).status.ok());
    log_.reset();
    host_.LosePower();
    Open();
    const uint64_t kept = log_->standing().promised.number;
    EXPECT_TRUE(kept == number - 1 || kept == number) << kept;
    ASSERT_TRUE(log_->Answer(promise).status.ok());
  }
}

}  // namespace
}  // namespace skein::durable
