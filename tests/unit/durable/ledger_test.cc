// What the ledger promises its callers.
#include "core/durable/ledger/ledger.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/durable/sim/faulty_storage.h"
#include "core/trace/counters.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/logged.h"

namespace skein::durable {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const ClientId kAnn = ClientNumber(1);
const ClientId kBob = ClientNumber(2);

class LedgerTest : public testing::Test {
 protected:
  static LedgerOptions Small() {
    LedgerOptions options;
    options.clients = 4;
    options.outcome_room = 32;
    return options;
  }

  void Open(uint64_t ring = 8192) {
    ledger_.reset();
    if (medium_ == nullptr) {
      medium_ = std::make_shared<sim::SimulatedMedium>(kRingOffset + ring, sim::Granule::kSector, 1);
    }
    auto faulty = std::make_unique<sim::FaultyStorage>(medium_->Open(), faults_);
    options_.now = [this] { return now_; };
    absl::StatusOr<std::unique_ptr<Ledger>> ledger = Ledger::Open(std::move(faulty), options_);
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    ledger_ = *std::move(ledger);
  }
  void Crash() {
    medium_->LosePower();
    Open();
  }

  // Until it is safe.
  absl::StatusOr<Acceptance> Accept(const ClientId& client, uint64_t sequence, const std::string& request) {
    absl::StatusOr<Acceptance> result = absl::UnknownError("not told");
    absl::Status status =
        ledger_->Accept(client, sequence, request, [&result](const auto& acceptance) { result = acceptance; });
    if (!status.ok()) return status;
    ledger_->Flush();
    return result;
  }
  absl::Status Finish(const ClientId& client, uint64_t sequence, const std::string& outcome) {
    absl::Status result = absl::UnknownError("not told");
    absl::Status status =
        ledger_->Finish(client, sequence, outcome, [&result](const auto& position) { result = position.status(); });
    if (!status.ok()) return status;
    ledger_->Flush();
    return result;
  }
  std::string Take() {
    const absl::StatusOr<std::optional<Ledger::Request>> request = ledger_->Take();
    EXPECT_TRUE(request.ok()) << request.status();
    return request->has_value() ? (*request)->bytes : "nothing";
  }
  void Execute(const ClientId& client, uint64_t sequence) {
    if (HasFatalFailure()) return;
    const absl::StatusOr<Acceptance> accepted = Accept(client, sequence, "request");
    ASSERT_TRUE(accepted.ok()) << accepted.status() << " sequence " << sequence << " used " << ledger_->load().log_used;
    ASSERT_EQ(Take(), "request");
    ASSERT_TRUE(Finish(client, sequence, "outcome").ok());
  }

  LedgerOptions options_ = Small();
  absl::Time now_ = absl::UnixEpoch();
  std::shared_ptr<sim::SimulatedMedium> medium_;
  const std::shared_ptr<sim::Faults> faults_ = std::make_shared<sim::Faults>();
  std::unique_ptr<Ledger> ledger_;
};

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

TEST_F(LedgerTest, SequencesHaveNoGaps) {
  Open();
  EXPECT_EQ(Accept(kAnn, 0, "").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Accept(kAnn, 2, "").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Accept(kAnn, 1, "").ok());
  EXPECT_EQ(Accept(kAnn, 3, "").status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(LedgerTest, AClientThatComesBackLearnsHowThingsAre) {
  options_.overlap = true;
  Open();
  EXPECT_EQ(ledger_->Known(kAnn).persisted, 0u);
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) EXPECT_TRUE(Accept(kAnn, sequence, "x").ok());
  for (int i = 0; i < 5; ++i) Take();
  EXPECT_TRUE(Finish(kAnn, 1, "").ok());
  EXPECT_TRUE(Finish(kAnn, 2, "").ok());
  EXPECT_TRUE(Finish(kAnn, 4, "").ok());
  for (const bool crash : {false, true}) {
    if (crash) Crash();
    const Ledger::Standing standing = ledger_->Known(kAnn);
    EXPECT_EQ(standing.persisted, 5u);
    EXPECT_EQ(standing.mark, 2u);
    EXPECT_THAT(standing.finished, ElementsAre(4));
  }
}

TEST_F(LedgerTest, OutcomesAreKeptUntilAcknowledgedOrOldOrTooMany) {
  options_.kept_outcomes = 3;
  Open();
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) Execute(kAnn, sequence);
  EXPECT_THAT(ledger_->Outcome(kAnn, 2).status().message(), HasSubstr("not kept any more"));
  EXPECT_TRUE(ledger_->Outcome(kAnn, 3).ok());
  ledger_->Acknowledge(kAnn, 4);
  EXPECT_FALSE(ledger_->Outcome(kAnn, 4).ok());
  EXPECT_TRUE(ledger_->Outcome(kAnn, 5).ok());
  now_ += options_.kept_for;
  EXPECT_TRUE(Accept(kAnn, 6, "time goes by").ok());
  EXPECT_FALSE(ledger_->Outcome(kAnn, 5).ok());
  EXPECT_EQ(ledger_->Known(kAnn).mark, 5u);
}

// Many laps of the ring, in which one client is silent, and another one's outcome is still wanted.
TEST_F(LedgerTest, MarksAndKeptOutcomesOutliveTheirPlaceInTheRing) {
  options_.kept_outcomes = 1000;
  Open();
  Execute(kAnn, 1);
  ledger_->Acknowledge(kAnn, 1);
  Execute(kBob, 1);
  const ClientId other = ClientNumber(3);
  for (uint64_t sequence = 1; sequence <= 1000; ++sequence) {
    Execute(other, sequence);
    ledger_->Acknowledge(other, sequence);
    if (sequence % 100 == 0) Crash();
  }
  EXPECT_EQ(ledger_->Known(kAnn).mark, 1u);
  EXPECT_EQ(ledger_->Known(other).mark, 1000u);
  EXPECT_EQ(*ledger_->Outcome(kBob, 1), "outcome");
  EXPECT_TRUE(Accept(kAnn, 1, "once more")->finished);
  EXPECT_LE(ledger_->load().log_used, ledger_->load().log_capacity * 3 / 4);
}

TEST_F(LedgerTest, OutcomesGoWhenTheLogNeedsTheirPlace) {
  options_.kept_outcomes = 1000;
  options_.kept_percent = 100;
  Open();
  for (uint64_t sequence = 1; sequence <= 1000; ++sequence) Execute(kAnn, sequence);
  EXPECT_EQ(ledger_->Known(kAnn).mark, 1000u);
  EXPECT_TRUE(ledger_->Outcome(kAnn, 1000).ok());
  EXPECT_FALSE(ledger_->Outcome(kAnn, 1).ok());
}

TEST_F(LedgerTest, WhateverWasAcceptedCanBeFinished) {
  Open();
  std::vector<uint64_t> last = {0, 0, 0, 0};
  bool full = false;
  for (int round = 0; !full; ++round) {
    const absl::StatusOr<Acceptance> accepted =
        Accept(ClientNumber(static_cast<uint8_t>(round % 4)), last[round % 4] + 1, PayloadOf(round));
    full = accepted.status().code() == absl::StatusCode::kResourceExhausted;
    if (!full) ++last[round % 4];
  }
  EXPECT_TRUE(ledger_->load().slow_down);
  uint64_t finished = 0;
  for (;;) {
    const auto request = ledger_->Take();
    if (!request->has_value()) break;
    const absl::Status status =
        Finish((*request)->client, (*request)->sequence, std::string(options_.outcome_room, 'o'));
    ASSERT_TRUE(status.ok()) << status << " after " << finished;
    ++finished;
  }
  EXPECT_EQ(finished, last[0] + last[1] + last[2] + last[3]);
  EXPECT_GT(finished, 10u);
  for (int i = 0; i < 3; ++i) ledger_->Flush();
  EXPECT_TRUE(Accept(ClientNumber(0), last[0] + 1, "room again").ok());
  EXPECT_FALSE(ledger_->load().slow_down);
}

TEST_F(LedgerTest, ALargerOutcomeMayHaveToWait) {
  Open();
  EXPECT_TRUE(Accept(kAnn, 1, "x").ok());
  uint64_t sequence = 1;
  while (Accept(kBob, sequence, std::string(500, 'x')).ok()) ++sequence;
  Take();
  EXPECT_EQ(Finish(kAnn, 1, std::string(1500, 'o')).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Finish(kAnn, 1, std::string(5000, 'o')).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Finish(kAnn, 1, "smaller").ok());
}

TEST_F(LedgerTest, AClientsWindowIsBounded) {
  options_.client_window = 3;
  options_.overlap = true;
  Open();
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) EXPECT_TRUE(Accept(kAnn, sequence, "x").ok());
  EXPECT_EQ(Accept(kAnn, 4, "x").status().code(), absl::StatusCode::kResourceExhausted);
  for (int i = 0; i < 3; ++i) Take();
  EXPECT_TRUE(Finish(kAnn, 3, "").ok());
  EXPECT_EQ(Accept(kAnn, 4, "x").status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Finish(kAnn, 1, "").ok());
  EXPECT_TRUE(Accept(kAnn, 4, "x").ok());
}

TEST_F(LedgerTest, SilentClientsMakePlaceForOthers) {
  Open();
  for (uint8_t client = 1; client <= 4; ++client) Execute(ClientNumber(client), 1);
  const ClientId fifth = ClientNumber(5);
  EXPECT_EQ(Accept(fifth, 1, "x").status().code(), absl::StatusCode::kResourceExhausted);
  now_ += options_.client_expiry;
  EXPECT_TRUE(Accept(ClientNumber(2), 1, "request")->finished) << "it is heard of";
  EXPECT_EQ(Accept(fifth, 1, "x").status().code(), absl::StatusCode::kResourceExhausted) << "outcomes are kept";
  for (uint8_t client = 1; client <= 3; ++client) ledger_->Acknowledge(ClientNumber(client), 1);
  now_ += options_.client_expiry;
  // Entries are proof enough until they are in the way; marks are written by and by.
  for (uint64_t sequence = 2; sequence <= 300; ++sequence) {
    Execute(ClientNumber(4), sequence);
    ledger_->Acknowledge(ClientNumber(4), sequence);
  }
  EXPECT_TRUE(Accept(fifth, 1, "x").ok());
  EXPECT_EQ(Take(), "x");
  EXPECT_TRUE(Finish(fifth, 1, "").ok());
  Crash();
  EXPECT_EQ(ledger_->Known(fifth).mark, 1u);
}

TEST_F(LedgerTest, AForgottenClientThatBeginsAnewIsNotTakenForItsFormerSelf) {
  options_.clients = 2;
  options_.kept_for = absl::ZeroDuration();
  Open();
  uint64_t bobs = 0;
  const auto write_over_everything = [&] {
    for (int i = 0; i < 200; ++i) Execute(kBob, ++bobs);
  };
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) Execute(kAnn, sequence);
  write_over_everything();
  now_ += options_.client_expiry;
  EXPECT_TRUE(Accept(kBob, bobs, "request")->finished);
  Execute(ClientNumber(3), 1);
  EXPECT_EQ(Accept(kAnn, 4, "x").status().code(), absl::StatusCode::kNotFound) << "it was forgotten";
  write_over_everything();
  now_ += options_.client_expiry;
  EXPECT_TRUE(Accept(kBob, bobs, "request")->finished);
  const absl::StatusOr<Acceptance> anew = Accept(kAnn, 1, "its first");
  ASSERT_TRUE(anew.ok()) << anew.status();
  EXPECT_FALSE(anew->duplicate);
  Crash();
  EXPECT_EQ(Take(), "its first");
}

TEST_F(LedgerTest, AForgottenClientsNewBeginningSurvivesACrashBesideItsFormerMark) {
  options_.clients = 3;
  options_.kept_for = absl::ZeroDuration();
  Open();
  const ClientId carl = ClientNumber(3);
  const ClientId dave = ClientNumber(4);
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) Execute(kAnn, sequence);
  now_ += absl::Seconds(1);
  Execute(carl, 1);
  now_ += absl::Seconds(1);
  uint64_t bobs = 0;
  // So long that proof of what Ann and Carl have done is in marks, which are young.
  while (ledger_->load().log_used + 256 < ledger_->load().log_capacity / 2 || bobs < 100) Execute(kBob, ++bobs);
  now_ += options_.client_expiry;
  EXPECT_TRUE(Accept(kBob, bobs, "request")->finished);
  EXPECT_TRUE(Accept(dave, 1, "Dave's").ok());
  EXPECT_TRUE(Accept(kAnn, 1, "Ann's first").ok());
  EXPECT_EQ(Accept(carl, 2, "x").status().code(), absl::StatusCode::kNotFound);
  Crash();
  EXPECT_EQ(Take(), "Dave's");
  EXPECT_EQ(Take(), "Ann's first");
  EXPECT_EQ(ledger_->Known(kAnn).persisted, 1u);
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

TEST_F(LedgerTest, OutcomesAreHeldForAServiceThatIsMadeOfThem) {
  options_.hold_outcomes = true;
  options_.kept_outcomes = 0;
  Open();
  for (uint64_t sequence = 1; sequence <= 10; ++sequence) Execute(kAnn, sequence);
  Crash();
  std::vector<uint64_t> seen;
  std::vector<uint64_t> positions;
  const auto note = [&](const Ledger::Held& outcome) {
    seen.push_back(outcome.sequence);
    positions.push_back(outcome.position);
    EXPECT_EQ(outcome.outcome, "outcome");
  };
  EXPECT_TRUE(ledger_->ForEachOutcome(0, note).ok());
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  seen.clear();
  EXPECT_TRUE(ledger_->ForEachOutcome(positions[6], note).ok());
  EXPECT_THAT(seen, ElementsAre(8, 9, 10));
  // Without a checkpoint the log fills up, with one it goes on.
  uint64_t next = 11;
  while (Accept(kAnn, next, "request").ok()) {
    Take();
    if (!Finish(kAnn, next, "outcome").ok()) break;
    ++next;
  }
  EXPECT_LT(next, 200u);
  ledger_->Checkpoint(positions.back() + 100000);
  for (int i = 0; i < 3; ++i) ledger_->Flush();
  EXPECT_TRUE(Accept(kAnn, next, "request").ok());
}

TEST_F(LedgerTest, CountsWhatIsUnfinished) {
  const auto gauge = [] { return trace::ReadCounters().Value(trace::Counter::kRedoLogBytes); };
  const uint64_t before = gauge();
  Open();
  EXPECT_TRUE(Accept(kAnn, 1, "x").ok());
  EXPECT_TRUE(Accept(kAnn, 2, "x").ok());
  EXPECT_EQ(gauge() - before, 128u);
  Take();
  EXPECT_TRUE(Finish(kAnn, 1, "").ok());
  EXPECT_EQ(gauge() - before, 64u);
  Crash();
  EXPECT_EQ(gauge() - before, 64u);
  ledger_.reset();
  EXPECT_EQ(gauge() - before, 0u);
}

TEST_F(LedgerTest, ALogThatIsTooSmallForItsOptionsIsSaid) {
  options_ = LedgerOptions();
  auto medium = std::make_shared<sim::SimulatedMedium>(kSmallestLog, sim::Granule::kWord, 1);
  const auto ledger = Ledger::Open(medium->Open(), options_);
  EXPECT_EQ(ledger.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ledger.status().message(), HasSubstr("too small for 1024 clients"));
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
                                 [&](const auto& position) {
                                   EXPECT_TRUE(position.ok());
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

}  // namespace
}  // namespace skein::durable
