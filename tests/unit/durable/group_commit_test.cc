// Threads that append at once, and disks that fail.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/durable/log/redo_log.h"
#include "core/durable/sim/faulty_storage.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/logged.h"

namespace skein::durable {
namespace {

using testing::HasSubstr;

class GroupCommitTest : public testing::TestWithParam<sim::Granule> {
 protected:
  std::unique_ptr<Storage> Faulty() { return std::make_unique<sim::FaultyStorage>(medium_, faults_); }

  const std::shared_ptr<sim::SimulatedMedium> medium_ =
      std::make_shared<sim::SimulatedMedium>(uint64_t{1} << 20, GetParam(), 1);
  const std::shared_ptr<sim::Faults> faults_ = std::make_shared<sim::Faults>();
};

TEST_P(GroupCommitTest, OneLeaderPersistsForAll) {
  const Logged logged = OpenLog(Faulty());
  faults_->persists = 0;
  for (uint64_t sequence = 1; sequence <= 100; ++sequence) EXPECT_TRUE(Append(*logged.log, sequence, "x").ok());
  EXPECT_TRUE(logged.log->Persist().ok());
  EXPECT_LE(faults_->persists, 2);
}

TEST_P(GroupCommitTest, ThreadsThatWaitAndThreadsThatDoNot) {
  constexpr int kThreads = 4;
  constexpr uint64_t kEach = 300;
  const Logged logged = OpenLog(Faulty());
  std::atomic<uint64_t> told = 0;
  std::atomic<uint64_t> failed = 0;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (uint64_t i = 0; i < kEach; ++i) {
        const bool waits = thread % 2 == 0;
        const absl::StatusOr<uint64_t> appended = Append(*logged.log, i, PayloadOf(i), [&](const absl::Status& status) {
          if (!status.ok()) ++failed;
          ++told;
        });
        ASSERT_TRUE(appended.ok()) << appended.status();
        if (waits) {
          EXPECT_TRUE(logged.log->Persist().ok());
        } else {
          logged.log->Flush();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Nobody has to come back for those of the threads that did not wait.
  EXPECT_EQ(told, kThreads * kEach);
  EXPECT_EQ(failed, 0u);
  medium_->LosePower();
  EXPECT_EQ(OpenLog(medium_->Open()).sequences.size(), kThreads * kEach);
}

TEST_P(GroupCommitTest, CallbacksOfAllThreadsComeInTheLogsOrder) {
  const Logged logged = OpenLog(Faulty());
  std::vector<uint64_t> told;  // by whoever leads, one at a time
  Mutex mu;                    // so that appending and knowing the number are one
  uint64_t next = 0;
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        {
          const MutexLock lock(&mu);
          const uint64_t number = next++;
          ASSERT_TRUE(
              Append(*logged.log, number, "x", [&told, number](const absl::Status&) { told.push_back(number); }).ok());
        }
        logged.log->Flush();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(logged.log->Persist().ok());
  ASSERT_EQ(told.size(), 600u);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
}

TEST_P(GroupCommitTest, AFailedPersistIsTheEndAndNeverTriedAgain) {
  Logged logged = OpenLog(Faulty());
  EXPECT_TRUE(Append(*logged.log, 1, "kept").ok());
  EXPECT_TRUE(logged.log->Persist().ok());
  faults_->fail_persist = 1;
  absl::Status told;
  EXPECT_TRUE(Append(*logged.log, 2, "lost", [&](const absl::Status& status) { told = status; }).ok());
  const absl::Status failed = logged.log->Persist();
  EXPECT_EQ(failed.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(failed.message(), HasSubstr("input/output error"));
  EXPECT_EQ(told, failed);
  const int64_t persists = faults_->persists;
  EXPECT_EQ(Append(*logged.log, 3, "refused").status(), failed);
  EXPECT_EQ(logged.log->Persist(), failed);
  logged.log->Flush();
  EXPECT_EQ(logged.log->health(), failed);
  EXPECT_EQ(faults_->persists, persists);
  medium_->LosePower();
  logged = OpenLog(medium_->Open());
  ASSERT_FALSE(logged.payloads.empty());
  EXPECT_EQ(logged.payloads[0], "kept");
}

TEST_P(GroupCommitTest, AFailedWriteIsTheEndToo) {
  const Logged logged = OpenLog(Faulty());
  absl::Status told;
  EXPECT_TRUE(Append(*logged.log, 1, "x", [&](const absl::Status& status) { told = status; }).ok());
  faults_->fail_write = 1;
  EXPECT_EQ(Append(*logged.log, 2, "x").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(told.ok());
  logged.log->Flush();
  EXPECT_EQ(told.code(), absl::StatusCode::kUnavailable) << "whoever waits is told";
}

TEST_P(GroupCommitTest, EveryPersistMayFailAndNothingToldIsLost) {
  for (int64_t fails = 1; fails < 40; ++fails) {
    auto medium = std::make_shared<sim::SimulatedMedium>(kRingOffset + 4096, GetParam(), fails);
    auto faults = std::make_shared<sim::Faults>();
    Logged logged = OpenLog(std::make_unique<sim::FaultyStorage>(medium, faults));
    ASSERT_TRUE(logged.status.ok());
    faults->fail_persist = fails;
    uint64_t safe = 0;
    std::vector<uint64_t> positions;
    for (uint64_t sequence = 1; sequence < 60; ++sequence) {
      const absl::StatusOr<uint64_t> position = Append(*logged.log, sequence, PayloadOf(sequence));
      if (!position.ok()) break;
      positions.push_back(*position);
      logged.log->Flush();
      if (!logged.log->health().ok()) break;
      safe = sequence;
      if (sequence > 5) logged.log->Release(positions[sequence - 6]);
    }
    logged.log.reset();
    medium->LosePower();
    logged = OpenLog(medium->Open());
    ASSERT_TRUE(logged.status.ok()) << logged.status;
    EXPECT_GE(logged.sequences.empty() ? 0 : logged.sequences.back(), safe) << "seed " << fails;
  }
}

INSTANTIATE_TEST_SUITE_P(On, GroupCommitTest, testing::Values(sim::Granule::kWord, sim::Granule::kSector),
                         [](const auto& info) { return info.param == sim::Granule::kWord ? "Words" : "Sectors"; });

}  // namespace
}  // namespace skein::durable
