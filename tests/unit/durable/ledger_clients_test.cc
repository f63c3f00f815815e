// Clients that come, come back, and are forgotten.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/ledger_fixture.h"

namespace skein::durable {
namespace {

using testing::ElementsAre;

using LedgerClientsTest = LedgerTest;

TEST_F(LedgerClientsTest, SequencesHaveNoGaps) {
  Open();
  EXPECT_EQ(Accept(kAnn, 0, "").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Accept(kAnn, 2, "").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Accept(kAnn, 1, "").ok());
  EXPECT_EQ(Accept(kAnn, 3, "").status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(LedgerClientsTest, AClientThatComesBackLearnsHowThingsAre) {
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

TEST_F(LedgerClientsTest, SilentClientsMakePlaceForOthers) {
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

TEST_F(LedgerClientsTest, AForgottenClientThatBeginsAnewIsNotTakenForItsFormerSelf) {
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

TEST_F(LedgerClientsTest, AForgottenClientsNewBeginningSurvivesACrashBesideItsFormerMark) {
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

}  // namespace
}  // namespace skein::durable
