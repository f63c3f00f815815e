// The log's host crashes at every step; and what would be taken for an entry, and is none.
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/durable/log/checksum.h"
#include "core/durable/log/redo_log.h"
#include "core/durable/sim/faulty_storage.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/logged.h"

namespace skein::durable {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

// Appends entries 1, 2, ..., and releases them when there are more than a few; crashes, and goes on.
class LogUnderCrashes {
 public:
  LogUnderCrashes(sim::Granule granule, uint64_t seed)
      : random_(seed), medium_(std::make_shared<sim::SimulatedMedium>(kRingOffset + 4096, granule, seed)) {}

  // Until the crash, or a failed Persist, or `entries` more.
  void Run(uint64_t entries) {
    const int64_t fail_persist = faults_->fail_persist;
    Logged logged = OpenLog(std::make_unique<sim::FaultyStorage>(medium_, faults_));
    if (!logged.status.ok()) {
      EXPECT_TRUE(medium_->crashed() || faults_->fail_persist != fail_persist) << logged.status;
      return;
    }
    Check(logged);
    for (uint64_t i = 0; i < entries && logged.log->health().ok(); ++i) Step(*logged.log);
    EXPECT_EQ(medium_->words_ahead_of_data(), 0u);
  }
  sim::SimulatedMedium& medium() { return *medium_; }
  sim::Faults& faults() { return *faults_; }
  uint64_t safe() const { return safe_; }

 private:
  void Check(const Logged& logged) {
    uint64_t before = logged.sequences.empty() ? safe_ : logged.sequences.front() - 1;
    EXPECT_LE(before, released_) << "an entry is missing at the head";
    for (size_t i = 0; i < logged.sequences.size(); ++i) {
      EXPECT_EQ(logged.sequences[i], ++before) << "not the next one";
      EXPECT_EQ(logged.payloads[i], PayloadOf(logged.sequences[i]));
    }
    EXPECT_GE(before, safe_) << "a safe entry is lost";
    EXPECT_LE(before, next_ - 1);
    // What was shown is safe from now on.
    safe_ = before;
    next_ = before + 1;
    wanted_ = logged.positions;
    released_ = before - wanted_.size();
  }

  void Step(RedoLog& log) {
    const uint64_t sequence = next_;
    const absl::StatusOr<uint64_t> position =
        Append(log, sequence, PayloadOf(sequence), [this, sequence](auto& status) {
          if (status.ok()) safe_ = sequence;
        });
    ++next_;
    if (!position.ok()) return;
    wanted_.push_back(*position);
    if (random_() % 3 != 0) log.Flush();
    const uint64_t keep = random_() % 6;
    while (wanted_.size() > keep && released_ < safe_) {
      log.Release(wanted_.front());
      wanted_.erase(wanted_.begin());
      ++released_;
    }
  }

  std::mt19937_64 random_;
  const std::shared_ptr<sim::SimulatedMedium> medium_;
  const std::shared_ptr<sim::Faults> faults_ = std::make_shared<sim::Faults>();
  std::vector<uint64_t> wanted_;  // positions of entries released_ + 1, ...
  uint64_t next_ = 1;
  uint64_t safe_ = 0;
  uint64_t released_ = 0;
};

class LogCrashTest : public testing::TestWithParam<sim::Granule> {};

TEST_P(LogCrashTest, AtEveryStepTwice) {
  constexpr uint64_t kEntries = 60;
  int crashes = 0;
  for (uint64_t step = 0;; ++step) {
    for (const bool torn : {false, true}) {
      const uint64_t seed = step * 2 + (torn ? 1 : 0);
      LogUnderCrashes log(GetParam(), seed);
      log.medium().CrashAt(step, torn);
      log.Run(kEntries);
      if (!log.medium().crashed()) {
        EXPECT_GT(crashes, 200);
        return;
      }
      for (uint64_t again = 0; again < 3; ++again) {
        if (seed % 3 == 0) {
          log.medium().LoseProcess();
        } else {
          log.medium().LosePower();
        }
        log.medium().CrashAt((seed * 7 + again * 13) % 40, again % 2 == 0);
        log.Run(kEntries);
        ++crashes;
        ASSERT_FALSE(testing::Test::HasFailure()) << "step " << step << (torn ? " torn" : "");
      }
    }
  }
}

// The process is started again, and reads what the disk does not have.
TEST_P(LogCrashTest, AfterEachFailedPersistAndThenAPowerCut) {
  for (int64_t fails = 1; fails <= 40; ++fails) {
    LogUnderCrashes log(GetParam(), fails);
    log.faults().fail_persist = fails;
    log.Run(60);
    EXPECT_EQ(log.faults().fail_persist, 0) << "it was not reached";
    log.medium().LoseProcess();
    log.Run(fails % 8);
    log.medium().LosePower();
    log.Run(60);
    ASSERT_FALSE(testing::Test::HasFailure()) << "persist " << fails;
  }
}

// A log after a crash: of its two entries the first one, with `payload`, is torn, and the second one lies whole behind
// it.
struct Torn {
  std::string bytes;
  uint64_t first = 0;  // position of the torn one
};
Torn TornWithAGhost(sim::SimulatedMedium& medium, const std::string& payload) {
  Torn torn;
  Logged logged = OpenLog(medium.Open());
  torn.first = *Append(*logged.log, 1, payload);
  EXPECT_TRUE(Append(*logged.log, 2, "ghost").ok());
  EXPECT_TRUE(logged.log->Persist().ok());
  logged.log.reset();
  torn.bytes = medium.bytes();
  torn.bytes[kRingOffset + torn.first] ^= 1;
  return torn;
}

// Another entry takes the torn one's place; what the next opening finds.
std::vector<uint64_t> FoundAfterAnother(const std::string& bytes, sim::Granule granule) {
  const auto medium = std::make_shared<sim::SimulatedMedium>(bytes, granule, 1);
  Logged logged = OpenLog(medium->Open());
  EXPECT_THAT(logged.sequences, ElementsAre());
  EXPECT_TRUE(Append(*logged.log, 3, "third").ok());
  EXPECT_TRUE(logged.log->Persist().ok());
  logged.log.reset();
  return OpenLog(medium->Open()).sequences;
}

// Two entries get lost; but of the second everything, and of the first its end, has reached the medium. Then another
// first one is written. The second one still has the right stamp for what is now the next position.
TEST_P(LogCrashTest, AnEntryBehindATornOneDoesNotComeBackWhenItsPlaceIsReached) {
  const auto medium = std::make_shared<sim::SimulatedMedium>(kRingOffset + 4096, GetParam(), 1);
  EXPECT_THAT(FoundAfterAnother(TornWithAGhost(*medium, "first").bytes, GetParam()), ElementsAre(3));
}

// The same, but the first one is released, and nothing else is in the log: the second one's place is where a head would
// be that stands behind all that is not wanted.
TEST_P(LogCrashTest, NorWhenNothingBeforeItIsWantedAnyMore) {
  auto medium = std::make_shared<sim::SimulatedMedium>(kRingOffset + 4096, GetParam(), 1);
  const auto another = std::make_shared<sim::SimulatedMedium>(kRingOffset + 4096, GetParam(), 1);
  // So that it is worth a slot when it is released.
  const std::string large(OpenLog(another->Open()).log->largest_payload(), 'x');
  const Torn torn = TornWithAGhost(*medium, large);
  medium = std::make_shared<sim::SimulatedMedium>(torn.bytes, GetParam(), 1);
  Logged logged = OpenLog(medium->Open());
  EXPECT_THAT(logged.sequences, ElementsAre());
  const uint64_t third = *Append(*logged.log, 3, large);
  EXPECT_EQ(third, torn.first);
  EXPECT_TRUE(logged.log->Persist().ok());
  logged.log->Release(third);
  logged.log->Flush();
  logged.log.reset();
  logged = OpenLog(medium->Open());
  EXPECT_THAT(logged.sequences, Not(Contains(2)));
}

// And the slot is lost that says in which opening they were written.
TEST_P(LogCrashTest, NorWhenTheSlotOfItsTimeIsLostToo) {
  const auto medium = std::make_shared<sim::SimulatedMedium>(kRingOffset + 4096, GetParam(), 1);
  OpenLog(medium->Open()).log.reset();
  Torn torn = TornWithAGhost(*medium, "first");
  torn.bytes[SlotOffset(3)] ^= 1;  // two were made with the log, and one by each opening
  EXPECT_THAT(FoundAfterAnother(torn.bytes, GetParam()), ElementsAre(3));
}

// After a lap, the place where the log ends holds a whole entry of the lap before.
TEST_P(LogCrashTest, AnEntryOfAnEarlierLapIsNoneOfThisOne) {
  auto medium = std::make_shared<sim::SimulatedMedium>(kRingOffset + 4096, GetParam(), 1);
  Logged logged = OpenLog(medium->Open());
  const std::string payload(200, 'x');  // 16 to the lap
  for (uint64_t sequence = 1; sequence <= 24; ++sequence) {
    const absl::StatusOr<uint64_t> position = Append(*logged.log, sequence, payload);
    ASSERT_TRUE(position.ok());
    EXPECT_TRUE(logged.log->Persist().ok());
    logged.log->Release(*position);
    logged.log->Flush();
  }
  logged.log.reset();
  logged = OpenLog(medium->Open());
  for (const uint64_t sequence : logged.sequences) EXPECT_GT(sequence, 16u);
}

// A client sends bytes that are an entry for some place of the ring: in a payload that has been there.
TEST_P(LogCrashTest, BytesThatAClientSentAreNoEntry) {
  auto medium = std::make_shared<sim::SimulatedMedium>(kRingOffset + 4096, GetParam(), 1);
  Logged logged = OpenLog(medium->Open());
  const LogId guess = {1, 2, 3};
  for (uint64_t lap = 0; lap < 4; ++lap) {
    for (uint64_t at = 0; at < 4096; at += 512) {
      std::string payload(400, '\0');
      const uint64_t next = (lap + 1) * 4096 + at + 64;
      const EntryHeader header = MakeEntryHeader(guess, 0, 1, {.position = next, .kind = kTestKind, .payload = {}});
      payload.replace(64 - sizeof(EntryHeader), sizeof(header), std::string(BytesOf(header)));
      const absl::StatusOr<uint64_t> position = Append(*logged.log, 1, payload);
      ASSERT_TRUE(position.ok());
      EXPECT_TRUE(logged.log->Persist().ok());
      logged.log->Release(*position);
      logged.log->Flush();
    }
    logged.log.reset();
    logged = OpenLog(medium->Open());
    for (const std::string& payload : logged.payloads) EXPECT_EQ(payload.size(), 400u);
    for (const uint64_t position : logged.positions) logged.log->Release(position);
  }
}

INSTANTIATE_TEST_SUITE_P(On, LogCrashTest, testing::Values(sim::Granule::kWord, sim::Granule::kSector),
                         [](const auto& info) { return info.param == sim::Granule::kWord ? "Words" : "Sectors"; });

}  // namespace
}  // namespace skein::durable
