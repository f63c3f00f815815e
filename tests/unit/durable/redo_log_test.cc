// What the log promises while nothing goes wrong, and when it is full.
#include "core/durable/log/redo_log.h"

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/logged.h"

namespace skein::durable {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// On words and on sectors: in two steps and in one.
class RedoLogTest : public testing::TestWithParam<sim::Granule> {
 protected:
  static constexpr uint64_t kRing = 8192;

  Logged Open(const RedoLogOptions& options = {}) { return OpenLog(medium_->Open(), options); }

  const std::shared_ptr<sim::SimulatedMedium> medium_ =
      std::make_shared<sim::SimulatedMedium>(kRingOffset + kRing, GetParam(), 1);
};

TEST_P(RedoLogTest, KeepsWhatIsPersisted) {
  Logged first = Open();
  ASSERT_TRUE(first.status.ok()) << first.status;
  EXPECT_THAT(first.sequences, IsEmpty());
  EXPECT_EQ(first.log->persistence(), Persistence::kEmulated);
  for (uint64_t sequence = 1; sequence <= 10; ++sequence) {
    ASSERT_TRUE(Append(*first.log, sequence, PayloadOf(sequence)).ok());
  }
  EXPECT_TRUE(first.log->Persist().ok());
  medium_->LosePower();
  const Logged second = Open();
  EXPECT_THAT(second.sequences, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  for (uint64_t sequence = 1; sequence <= 10; ++sequence) {
    EXPECT_EQ(second.payloads[sequence - 1], PayloadOf(sequence));
    std::string payload;
    const absl::StatusOr<Entry> entry = second.log->Read(second.positions[sequence - 1], payload);
    ASSERT_TRUE(entry.ok());
    EXPECT_EQ(entry->payload, PayloadOf(sequence));
    EXPECT_EQ(entry->kind, kTestKind);
    EXPECT_EQ(entry->client, ClientNumber(1));
  }
  EXPECT_EQ(medium_->words_ahead_of_data(), 0u);
}

TEST_P(RedoLogTest, APayloadThatIsNowhereIsEmpty) {
  {
    const Logged logged = Open();
    EXPECT_TRUE(Append(*logged.log, 1, absl::string_view()).ok());
    EXPECT_TRUE(logged.log->Persist().ok());
  }
  EXPECT_THAT(Open().sequences, ElementsAre(1));
}

TEST_P(RedoLogTest, ManyLapsWithReleasedEntries) {
  Logged logged = Open();
  std::vector<uint64_t> wanted;
  uint64_t sequence = 0;
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 5; ++i) {
      ++sequence;
      absl::StatusOr<uint64_t> position = Append(*logged.log, sequence, PayloadOf(sequence));
      ASSERT_TRUE(position.ok()) << position.status() << " at " << sequence;
      wanted.push_back(*position);
    }
    logged.log->Flush();
    EXPECT_TRUE(logged.log->Persist().ok());
    for (; wanted.size() > 10; wanted.erase(wanted.begin())) logged.log->Release(wanted.front());
    if (round % 10 == 9) {
      logged.log.reset();
      medium_->LosePower();
      logged = Open();
      ASSERT_TRUE(logged.status.ok()) << logged.status;
      ASSERT_GE(logged.sequences.size(), 10u);
      // Those released last may be there again; the others without a gap.
      EXPECT_EQ(logged.sequences.back(), sequence);
      EXPECT_EQ(logged.sequences.back() - logged.sequences.front() + 1, logged.sequences.size());
      wanted = logged.positions;
    }
  }
  EXPECT_GT(logged.log->usage().head, 20 * kRing);
}

TEST_P(RedoLogTest, IsFullAndHasRoomAgainWhenEntriesAreReleased) {
  const Logged logged = Open();
  std::vector<uint64_t> positions;
  absl::StatusOr<uint64_t> position;
  while ((position = Append(*logged.log, positions.size(), std::string(200, 'x'))).ok()) positions.push_back(*position);
  EXPECT_EQ(position.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(positions.size(), kRing / EntryBytes(200));
  EXPECT_TRUE(logged.log->Persist().ok());
  logged.log->Release(positions[1]);
  logged.log->Flush();
  EXPECT_FALSE(Append(*logged.log, 99, "y").ok()) << "the head has not moved";
  logged.log->Release(positions[0]);
  EXPECT_FALSE(Append(*logged.log, 99, "y").ok()) << "the head has moved, but recovery does not know";
  logged.log->Flush();
  EXPECT_TRUE(Append(*logged.log, 99, "y").ok());
  EXPECT_EQ(logged.log->usage().capacity, kRing);
}

TEST_P(RedoLogTest, KeepsRoomFreeIfItIsTold) {
  const Logged logged = Open();
  const Entry entry{.kind = kTestKind, .payload = "x"};
  EXPECT_EQ(logged.log->Append(entry, kRing - 63, nullptr).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(logged.log->Append(entry, kRing - 64, nullptr).ok());
}

TEST_P(RedoLogTest, TakesNoEntryThatIsTooLarge) {
  const Logged logged = Open();
  const uint64_t most = logged.log->largest_payload();
  EXPECT_TRUE(Append(*logged.log, 1, std::string(most, 'x')).ok());
  const absl::StatusOr<uint64_t> larger = Append(*logged.log, 2, std::string(most + 1, 'x'));
  EXPECT_EQ(larger.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(larger.status().message(), HasSubstr("make the log larger"));
}

TEST_P(RedoLogTest, CallbacksComeInOrderAndOnlyOnce) {
  const Logged logged = Open();
  std::vector<uint64_t> told;
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) {
    EXPECT_TRUE(Append(*logged.log, sequence, "x", [&told, sequence](const absl::Status& status) {
                  EXPECT_TRUE(status.ok());
                  told.push_back(sequence);
                }).ok());
  }
  EXPECT_THAT(told, IsEmpty());
  logged.log->Flush();
  EXPECT_THAT(told, ElementsAre(1, 2, 3, 4, 5));
  logged.log->Flush();
  EXPECT_TRUE(logged.log->Persist().ok());
  EXPECT_EQ(told.size(), 5u);
}

TEST_P(RedoLogTest, ACallbackMayAppendAndFlush) {
  const Logged logged = Open();
  int told = 0;
  EXPECT_TRUE(Append(*logged.log, 1, "x", [&](const absl::Status&) {
                ++told;
                EXPECT_TRUE(Append(*logged.log, 2, "x", [&](const absl::Status&) { ++told; }).ok());
                logged.log->Flush();
              }).ok());
  EXPECT_TRUE(logged.log->Persist().ok());
  EXPECT_EQ(told, 2) << "who leads does it for a Flush that came meanwhile";
}

TEST_P(RedoLogTest, WhatWasNeverPersistedIsToldWhenTheLogIsClosed) {
  Logged logged = Open();
  absl::Status told;
  EXPECT_TRUE(Append(*logged.log, 1, "x", [&](const absl::Status& status) { told = status; }).ok());
  logged.log.reset();
  EXPECT_EQ(told.code(), absl::StatusCode::kCancelled);
}

TEST_P(RedoLogTest, IsNotOpenedForAnother) {
  const LogId identity = Open().log->identity();
  EXPECT_TRUE(Open({.identity = identity}).status.ok());
  EXPECT_EQ(Open({.identity = LogId{1}}).status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_P(RedoLogTest, AnErrorOfTheVisitorIsOpensError) {
  {
    const Logged logged = Open();
    EXPECT_TRUE(Append(*logged.log, 1, "x").ok());
    EXPECT_TRUE(logged.log->Persist().ok());
  }
  const auto log = RedoLog::Open(medium_->Open(), {}, [](const Entry&) { return absl::DataLossError("no"); });
  EXPECT_EQ(log.status(), absl::DataLossError("no"));
}

INSTANTIATE_TEST_SUITE_P(On, RedoLogTest, testing::Values(sim::Granule::kWord, sim::Granule::kSector),
                         [](const auto& info) { return info.param == sim::Granule::kWord ? "Words" : "Sectors"; });

TEST(RedoLogSizeTest, IsChecked) {
  for (const uint64_t size : {uint64_t{0}, uint64_t{8}, kSmallestLog - 1}) {
    auto medium = std::make_shared<sim::SimulatedMedium>(size, sim::Granule::kWord, 1);
    EXPECT_EQ(OpenLog(medium->Open()).status.code(), absl::StatusCode::kInvalidArgument) << size;
  }
}

TEST(RedoLogPlaceTest, OtherThingsThanLogsAreLeftAlone) {
  for (const uint64_t where : {uint64_t{0}, uint64_t{100}, kSmallestLog - 1}) {
    std::string bytes(kSmallestLog, '\0');
    bytes[where] = 'x';
    auto medium = std::make_shared<sim::SimulatedMedium>(bytes, sim::Granule::kWord, 1);
    const Logged logged = OpenLog(medium->Open());
    EXPECT_EQ(logged.status.code(), absl::StatusCode::kFailedPrecondition) << where;
    EXPECT_THAT(logged.status.message(), HasSubstr("no redo log"));
    EXPECT_EQ(medium->bytes(), bytes);
  }
}

}  // namespace
}  // namespace skein::durable
