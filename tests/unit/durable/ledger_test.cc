// What the ledger promises its callers.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/durable/ledger/kinds.h"
#include "core/trace/counters.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/ledger_fixture.h"

namespace skein::durable {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(LedgerTest, ARequestIsAcceptedExecutedAndFinished) {
  Open();
  const absl::StatusOr<Acceptance> accepted = Accept(kAnn, 1, "one");
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_EQ(accepted->level, Persistence::kEmulated);
  EXPECT_FALSE(accepted->duplicate);
  EXPECT_EQ(Take(), "one");
  EXPECT_EQ(Take(), "nothing");
  EXPECT_THAT(ledger_->Outcome(kAnn, 1).status().message(), HasSubstr("not finished"));
  EXPECT_TRUE(Finish(kAnn, 1, "done").ok());
  EXPECT_EQ(*ledger_->Outcome(kAnn, 1), "done");
  EXPECT_EQ(Finish(kAnn, 1, "again").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Finish(kBob, 1, "never").code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(LedgerTest, WhatIsUnfinishedRunsAgainInOrderAndTheRestDoesNot) {
  Open();
  EXPECT_TRUE(Accept(kAnn, 1, "a1").ok());
  EXPECT_TRUE(Accept(kBob, 1, "b1").ok());
  EXPECT_TRUE(Accept(kAnn, 2, "a2").ok());
  EXPECT_TRUE(Accept(kBob, 2, "b2").ok());
  EXPECT_EQ(Take(), "a1");
  EXPECT_EQ(Take(), "b1");
  EXPECT_TRUE(Finish(kBob, 1, "done").ok());
  Crash();
  EXPECT_EQ(Take(), "a1");
  EXPECT_EQ(Take(), "b2");
  EXPECT_EQ(Take(), "nothing") << "one at a time of each client";
  EXPECT_TRUE(Finish(kAnn, 1, "done").ok());
  EXPECT_EQ(Take(), "a2");
  EXPECT_EQ(*ledger_->Outcome(kBob, 1), "done");
}

TEST_F(LedgerTest, RequestsOfAClientMayOverlapIfSo) {
  options_.overlap = true;
  Open();
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    EXPECT_TRUE(Accept(kAnn, sequence, std::to_string(sequence)).ok());
    EXPECT_EQ(Take(), std::to_string(sequence));
  }
  EXPECT_TRUE(Finish(kAnn, 3, "").ok());
  const Ledger::Standing standing = ledger_->Known(kAnn);
  EXPECT_EQ(standing.mark, 0u);
  EXPECT_THAT(standing.finished, ElementsAre(3));
  Crash();
  EXPECT_EQ(Take(), "1");
  EXPECT_EQ(Take(), "2");
  EXPECT_EQ(Take(), "nothing");
  EXPECT_TRUE(Finish(kAnn, 1, "").ok());
  EXPECT_TRUE(Finish(kAnn, 2, "").ok());
  EXPECT_EQ(ledger_->Known(kAnn).mark, 3u);
}

TEST_F(LedgerTest, DuplicatesAreToldSoAndNotLoggedAgain) {
  Open();
  EXPECT_TRUE(Accept(kAnn, 1, "one").ok());
  const uint64_t used = ledger_->load().log_used;
  absl::StatusOr<Acceptance> again = Accept(kAnn, 1, "one");
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->duplicate);
  EXPECT_FALSE(again->finished);
  EXPECT_EQ(Take(), "one");
  EXPECT_TRUE(Finish(kAnn, 1, "done").ok());
  again = Accept(kAnn, 1, "one");
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->duplicate);
  EXPECT_TRUE(again->finished);
  EXPECT_EQ(Take(), "nothing");
  EXPECT_LE(ledger_->load().log_used, used + 128);
}

TEST_F(LedgerTest, ADuplicateOfWhatIsNotYetSafeIsToldWhenItIs) {
  Open();
  std::vector<bool> duplicates;
  const auto note = [&duplicates](const absl::StatusOr<Acceptance>& acceptance) {
    duplicates.push_back(acceptance.ok() && acceptance->duplicate);
  };
  EXPECT_TRUE(ledger_->Accept(kAnn, 1, "one", note).ok());
  EXPECT_TRUE(ledger_->Accept(kAnn, 1, "one", note).ok());
  EXPECT_THAT(duplicates, IsEmpty());
  ledger_->Flush();
  EXPECT_THAT(duplicates, ElementsAre(false, true));
}

TEST_F(LedgerTest, AFailedDiskIsSaidToAll) {
  Open();
  EXPECT_TRUE(Accept(kAnn, 1, "kept").ok());
  EXPECT_EQ(Take(), "kept");
  faults_->fail_persist = 1;
  EXPECT_EQ(Accept(kAnn, 2, "lost").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Accept(kAnn, 3, "refused").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Finish(kAnn, 1, "refused").code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(ledger_->health().ok());
  Crash();
  EXPECT_EQ(Take(), "kept");
}

TEST_F(LedgerTest, CountsWhatItDoes) {
  using trace::Counter;
  const trace::CounterSnapshot before = trace::ReadCounters();
  const auto counted = [&before](Counter counter) {
    return trace::ReadCounters().Value(counter) - before.Value(counter);
  };
  Open();
  EXPECT_TRUE(Accept(kAnn, 1, "x").ok());
  EXPECT_TRUE(Accept(kAnn, 2, "x").ok());
  EXPECT_TRUE(Accept(kAnn, 2, "x")->duplicate);
  EXPECT_EQ(counted(Counter::kRedoLogBytes), 128u);
  EXPECT_EQ(counted(Counter::kDurableUnfinished), 2u);
  EXPECT_EQ(counted(Counter::kDurablePersisted), 2u);
  Take();
  EXPECT_TRUE(Finish(kAnn, 1, "").ok());
  EXPECT_EQ(counted(Counter::kRedoLogBytes), 64u);
  EXPECT_EQ(counted(Counter::kDurableUnfinished), 1u);
  EXPECT_EQ(counted(Counter::kDurableExecuted), 1u);
  EXPECT_EQ(counted(Counter::kDurableReplayed), 0u);
  Crash();
  EXPECT_EQ(counted(Counter::kRedoLogBytes), 64u);
  EXPECT_EQ(counted(Counter::kDurableUnfinished), 1u);
  EXPECT_EQ(counted(Counter::kDurableReplayed), 1u);
  ledger_.reset();
  EXPECT_EQ(counted(Counter::kRedoLogBytes), 0u);
  EXPECT_EQ(counted(Counter::kDurableUnfinished), 0u);
}

TEST_F(LedgerTest, ManyThreads) {
  options_.clients = 8;
  Open(uint64_t{1} << 20);
  constexpr uint64_t kEach = 200;
  std::atomic<uint64_t> finished = 0;
  std::vector<std::thread> threads;
  threads.reserve(6);
  for (uint8_t number = 0; number < 3; ++number) {
    threads.emplace_back([&, number] {
      for (uint64_t sequence = 1; sequence <= kEach; ++sequence) {
        ASSERT_TRUE(ledger_
                        ->Accept(ClientNumber(number), sequence, PayloadOf(sequence),
                                 [](const auto& accepted) { EXPECT_TRUE(accepted.ok()); })
                        .ok());
        if (number == 0) {
          EXPECT_TRUE(ledger_->Persist().ok());
        } else {
          ledger_->Flush();
        }
      }
    });
    threads.emplace_back([&] {
      while (finished < 3 * kEach) {
        const auto request = ledger_->Take();
        ASSERT_TRUE(request.ok());
        if (!request->has_value()) {
          std::this_thread::yield();
          continue;
        }
        EXPECT_EQ((*request)->bytes, PayloadOf((*request)->sequence));
        EXPECT_TRUE(ledger_
                        ->Finish((*request)->client, (*request)->sequence, "done",
                                 [&](const absl::Status& status) {
                                   EXPECT_TRUE(status.ok());
                                   ++finished;
                                 })
                        .ok());
        ledger_->Flush();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Crash();
  for (uint8_t number = 0; number < 3; ++number) EXPECT_EQ(ledger_->Known(ClientNumber(number)).mark, kEach);
}

// No ledger writes a lower one behind it; a log whose checksums hold may have it all the same.
TEST_F(LedgerTest, OfMarksTheHighestStays) {
  medium_ = std::make_shared<sim::SimulatedMedium>(kRingOffset + 8192, sim::Granule::kSector, 1);
  Logged logged = OpenLog(medium_->Open());
  for (const uint64_t mark : {5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 3}) {  // enough of them for the head to be moved
    const Entry entry{.kind = kMark, .client = kAnn, .sequence = mark, .payload = {}};
    EXPECT_TRUE(logged.log->Append(entry, 0, nullptr).ok());
  }
  EXPECT_TRUE(logged.log->Persist().ok());
  logged.log.reset();
  Open();
  Execute(kAnn, 6);
  Open();
  EXPECT_EQ(ledger_->Known(kAnn).mark, 6U);
}

// With checksums that hold: by chance, or because somebody has made them.
TEST_F(LedgerTest, ASequenceThatNobodyCanHaveSentIsDamage) {
  constexpr uint64_t kNever = (uint64_t{1} << 56) + 1;
  const std::string payload(sizeof(uint64_t), '\0');
  const auto open = [&](const std::vector<std::pair<EntryKind, uint64_t>>& entries) {
    auto medium = std::make_shared<sim::SimulatedMedium>(kRingOffset + 8192, sim::Granule::kSector, 1);
    Logged logged = OpenLog(medium->Open());
    for (const auto& [kind, sequence] : entries) {
      const Entry entry{.kind = kind, .client = kAnn, .sequence = sequence, .payload = payload};
      EXPECT_TRUE(logged.log->Append(entry, 0, nullptr).ok());
    }
    EXPECT_TRUE(logged.log->Persist().ok());
    logged.log.reset();
    return Ledger::Open(medium->Open(), options_).status();
  };
  for (const EntryKind kind : {kRequest, kOutcome, kCarried, kFinished}) {
    EXPECT_TRUE(open({{kind, 1}}).ok());
    EXPECT_EQ(open({{kind, 0}}).code(), absl::StatusCode::kDataLoss) << int{kind};
  }
  for (const EntryKind kind : {kRequest, kOutcome, kCarried, kFinished, kMark, kForget}) {
    EXPECT_EQ(open({{kMark, kNever - 1}, {kind, kNever}}).code(), absl::StatusCode::kDataLoss) << int{kind};
  }
  EXPECT_TRUE(open({{kMark, kNever - 1}, {kForget, 0}, {kMark, 0}}).ok());
  EXPECT_EQ(open({{kOutcome, 0}, {kMark, ~uint64_t{0}}}).code(), absl::StatusCode::kDataLoss)
      << "one wraps to the other";
}

}  // namespace
}  // namespace skein::durable
