// Clients that come, come back, and are forgotten.
#include <memory>
#include <string>
#include <vector>

#include "core/durable/ledger/kinds.h"
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
  options_.kept_for = 10 * options_.client_expiry;
  Open();
  for (uint8_t client = 1; client <= 4; ++client) Execute(ClientNumber(client), 1);
  const ClientId fifth = ClientNumber(5);
  EXPECT_EQ(Accept(fifth, 1, "x").status().code(), absl::StatusCode::kResourceExhausted);
  now_ += options_.client_expiry;
  EXPECT_TRUE(Accept(ClientNumber(2), 1, "request")->finished) << "it is heard of";
  EXPECT_EQ(Accept(fifth, 1, "x").status().code(), absl::StatusCode::kResourceExhausted) << "outcomes are kept";
  for (uint8_t client = 1; client <= 3; ++client) ledger_->Acknowledge(ClientNumber(client), 1);
  now_ += options_.client_expiry;
  EXPECT_TRUE(Accept(ClientNumber(4), 1, "request")->finished) << "it is heard of";
  EXPECT_TRUE(Accept(fifth, 1, "x").ok()) << "though the others' entries lie in a log that is nearly empty";
  EXPECT_EQ(Take(), "x");
  EXPECT_TRUE(Finish(fifth, 1, "").ok());
  Crash();
  EXPECT_EQ(ledger_->Known(fifth).mark, 1u);
  EXPECT_EQ(ledger_->Known(ClientNumber(4)).mark, 1u);
}

// Again and again, in the same few places, and each time all that is in the log belongs to somebody who is known.
TEST_F(LedgerClientsTest, ManyClientsComeAndGo) {
  options_.kept_for = absl::Seconds(1);
  Open();
  for (int client = 0; client < 500; ++client) {
    ClientId id = ClientNumber(static_cast<uint8_t>(client % 251));
    id[1] = static_cast<uint8_t>(client / 251 + 1);
    Execute(id, 1);
    now_ += options_.client_expiry;
    if (client % 7 == 0) Crash();
    if (client % 7 == 0) now_ += options_.client_expiry;
  }
  EXPECT_LE(ledger_->load().log_used, ledger_->load().log_capacity * 3 / 4);
}

TEST_F(LedgerClientsTest, AClientWhoseOutcomesAreHeldIsNotForgotten) {
  options_.hold_outcomes = true;
  options_.kept_for = absl::ZeroDuration();
  options_.clients = 1;
  Open();
  Execute(kAnn, 1);
  now_ += options_.client_expiry;
  EXPECT_EQ(Accept(kBob, 1, "x").status().code(), absl::StatusCode::kResourceExhausted);
  ledger_->Checkpoint(uint64_t{1} << 20);
  EXPECT_TRUE(Accept(kBob, 1, "x").ok());
  EXPECT_EQ(ledger_->Known(kAnn).persisted, 0u);
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

// Its first request is larger than the room that is left: so it has a place only while that is looked for, and in this
// time its former mark, which is not needless yet, comes to the log's head.
TEST_F(LedgerClientsTest, AForgottenClientsFormerMarkIsNoneOfItsNewBeginning) {
  options_.clients = 3;
  options_.kept_for = absl::ZeroDuration();
  Open(65536);
  const auto append = [this](const ClientId& client, uint64_t sequence, size_t bytes) {
    return ledger_->Accept(client, sequence, std::string(bytes, 'x'), [](const auto&) {});
  };
  for (uint64_t sequence = 1; sequence <= 256; ++sequence) Execute(kAnn, sequence);  // then a mark is written
  now_ += absl::Seconds(1);
  Execute(kBob, 1);
  now_ += options_.client_expiry;
  const ClientId carl = ClientNumber(3);
  for (uint64_t sequence = 1; ledger_->load().log_used + 600 < ledger_->load().log_capacity / 2; ++sequence) {
    ASSERT_TRUE(append(carl, sequence, 450).ok());
  }
  EXPECT_TRUE(ledger_->Persist().ok());
  EXPECT_TRUE(append(ClientNumber(4), 1, 4000).ok()) << "Ann is forgotten";
  EXPECT_EQ(append(kAnn, 1, 16000).code(), absl::StatusCode::kResourceExhausted) << "and Bob, for nothing";
  EXPECT_TRUE(ledger_->Persist().ok());
  EXPECT_EQ(ledger_->Known(kAnn).persisted, 0u);
  EXPECT_TRUE(Accept(kAnn, 1, "x").ok());
}

// As logs have them whose client had the place above, and went on.
TEST_F(LedgerClientsTest, AMarkOfNothingDoesNotHoldTheHead) {
  medium_ = std::make_shared<sim::SimulatedMedium>(kRingOffset + 8192, sim::Granule::kSector, 1);
  {
    const Logged logged = OpenLog(medium_->Open());
    ASSERT_TRUE(logged.log->Append({.kind = kMark, .client = kAnn, .payload = {}}, 0, nullptr).ok());
    ASSERT_TRUE(logged.log->Persist().ok());
  }
  Open();
  uint64_t bobs = 0;
  while (Accept(kBob, bobs + 1, std::string(450, 'x')).ok()) ++bobs;
  EXPECT_EQ(Accept(kAnn, 1, std::string(450, 'x')).status().code(), absl::StatusCode::kResourceExhausted);
  for (uint64_t sequence = 1; sequence <= bobs; ++sequence) {
    Take();
    ASSERT_TRUE(Finish(kBob, sequence, "outcome").ok());
  }
  for (int i = 0; i < 500; ++i) Execute(kBob, ++bobs);
}

}  // namespace
}  // namespace skein::durable
