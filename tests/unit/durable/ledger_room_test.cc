// What the ledger keeps, for how long, and that there is room for what it must.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/ledger_fixture.h"

namespace skein::durable {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using LedgerRoomTest = LedgerTest;

TEST_F(LedgerRoomTest, OutcomesAreKeptUntilAcknowledgedOrOldOrTooMany) {
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
TEST_F(LedgerRoomTest, MarksAndKeptOutcomesOutliveTheirPlaceInTheRing) {
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

TEST_F(LedgerRoomTest, WhatWasAcknowledgedIsNotKeptAfterACrash) {
  Open();
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) Execute(kAnn, sequence);
  ledger_->Acknowledge(kAnn, 3);
  Execute(kAnn, 6);  // makes it safe
  Crash();
  EXPECT_EQ(ledger_->Outcome(kAnn, 3).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(ledger_->Outcome(kAnn, 4).ok());
  EXPECT_EQ(ledger_->Outcome(kAnn, 7).status().code(), absl::StatusCode::kOutOfRange);
}

// Of two clients' outcomes the older ones are carried around the ring, and are still the older ones after a crash.
TEST_F(LedgerRoomTest, AnOutcomeIsAsOldAsItWasWhereverItIsCarried) {
  options_.kept_outcomes = 1000;
  options_.kept_percent = 100;
  Open(16384);
  const ClientId other = ClientNumber(3);
  uint64_t others = 0;
  const auto advance = [&](uint64_t bytes) {
    for (uint64_t written = 0; written < bytes; written += 192) {
      Execute(other, ++others);
      ledger_->Acknowledge(other, others);
    }
  };
  for (uint64_t sequence = 1; sequence <= 10; ++sequence) Execute(kAnn, sequence);
  advance(12000);  // Ann's are carried
  for (uint64_t sequence = 1; sequence <= 10; ++sequence) Execute(kBob, sequence);
  advance(4000);  // Bob's are not
  const auto kept = [this](const ClientId& client) {
    uint64_t count = 0;
    for (uint64_t sequence = 1; sequence <= 10; ++sequence) count += ledger_->Outcome(client, sequence).ok();
    return count;
  };
  ASSERT_EQ(kept(kAnn), 10u);
  ASSERT_EQ(kept(kBob), 10u);
  options_.kept_outcomes = 15;
  Crash();
  EXPECT_EQ(kept(kBob), 10u);
  EXPECT_GT(kept(kAnn), 0u);
  EXPECT_LT(kept(kAnn), 10u);
  EXPECT_FALSE(ledger_->Outcome(kAnn, 1).ok());
}

// Not one record more with every call, however empty the log is.
TEST_F(LedgerRoomTest, WhatIsOverAndAcknowledgedIsReleasedByAndBy) {
  Open(uint64_t{1} << 20);
  for (uint64_t sequence = 1; sequence <= 3000; ++sequence) {
    Execute(kAnn, sequence);
    ledger_->Acknowledge(kAnn, sequence);
  }
  EXPECT_LT(ledger_->load().log_used, 100'000u) << "of 384,000 bytes";
}

TEST_F(LedgerRoomTest, OutcomesGoWhenTheLogNeedsTheirPlace) {
  options_.kept_outcomes = 1000;
  options_.kept_percent = 100;
  Open();
  for (uint64_t sequence = 1; sequence <= 1000; ++sequence) Execute(kAnn, sequence);
  EXPECT_EQ(ledger_->Known(kAnn).mark, 1000u);
  EXPECT_TRUE(ledger_->Outcome(kAnn, 1000).ok());
  EXPECT_FALSE(ledger_->Outcome(kAnn, 1).ok());
}

TEST_F(LedgerRoomTest, WhateverWasAcceptedCanBeFinished) {
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

TEST_F(LedgerRoomTest, ALargerOutcomeMayHaveToWait) {
  Open();
  EXPECT_TRUE(Accept(kAnn, 1, "x").ok());
  uint64_t sequence = 1;
  while (Accept(kBob, sequence, std::string(500, 'x')).ok()) ++sequence;
  Take();
  EXPECT_EQ(Finish(kAnn, 1, std::string(1500, 'o')).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Finish(kAnn, 1, std::string(5000, 'o')).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Finish(kAnn, 1, "smaller").ok());
}

TEST_F(LedgerRoomTest, AClientsWindowIsBounded) {
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

TEST_F(LedgerRoomTest, OutcomesAreHeldForAServiceThatIsMadeOfThem) {
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

TEST_F(LedgerRoomTest, ALogThatIsTooSmallForItsOptionsIsSaid) {
  options_ = LedgerOptions();
  options_.clients = 1024;
  auto medium = std::make_shared<sim::SimulatedMedium>(kSmallestLog, sim::Granule::kWord, 1);
  const auto ledger = Ledger::Open(medium->Open(), options_);
  EXPECT_EQ(ledger.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ledger.status().message(), HasSubstr("too small for 1024 clients"));
}

}  // namespace
}  // namespace skein::durable
