// What the simulation may lose, and what it must not.
#include "core/durable/sim/simulated_medium.h"

#include <memory>
#include <set>

#include "core/durable/sim/faulty_storage.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::durable::sim {
namespace {

std::string After(Storage& storage) {
  std::string bytes(storage.size(), '?');
  EXPECT_TRUE(storage.Read(0, absl::MakeSpan(bytes)).ok());
  return bytes;
}

TEST(SimulatedMediumTest, KeepsWhatIsPersistedAndMayLoseTheRestByTheGranule) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    auto medium = std::make_shared<SimulatedMedium>(24, Granule::kWord, seed);
    auto storage = medium->Open();
    EXPECT_TRUE(storage->Write(0, "11111111").ok());
    EXPECT_TRUE(storage->Persist(0, 8).ok());
    EXPECT_TRUE(storage->Write(8, "2222222233333333").ok());
    medium->LosePower();
    EXPECT_EQ(storage->Write(0, "x").code(), absl::StatusCode::kAborted) << "of a host that is gone";
    const std::string after = After(*medium->Open());
    EXPECT_EQ(after.substr(0, 8), "11111111");
    seen.insert(after.substr(8));
  }
  const std::string zeros(8, '\0');
  EXPECT_THAT(seen,
              testing::UnorderedElementsAre(zeros + zeros, "22222222" + zeros, zeros + "33333333", "2222222233333333"));
}

TEST(SimulatedMediumTest, AValueThatWasOverwrittenMayBeWhatIsLeft) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    auto medium = std::make_shared<SimulatedMedium>(std::string("aaaaaaaa"), Granule::kWord, seed);
    auto storage = medium->Open();
    EXPECT_TRUE(storage->Write(0, "bbbbbbbb").ok());
    EXPECT_TRUE(storage->Write(0, "cccccccc").ok());
    medium->LosePower();
    seen.insert(After(*medium->Open()));
  }
  EXPECT_THAT(seen, testing::UnorderedElementsAre("aaaaaaaa", "bbbbbbbb", "cccccccc"));
}

TEST(SimulatedMediumTest, AProcessThatDiesLeavesWhatItWroteUnpersisted) {
  bool lost = false;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    auto medium = std::make_shared<SimulatedMedium>(8, Granule::kWord, seed);
    EXPECT_TRUE(medium->Open()->Write(0, "11111111").ok());
    medium->LoseProcess();
    EXPECT_EQ(After(*medium->Open()), "11111111");
    medium->LosePower();
    lost = lost || After(*medium->Open()) == std::string(8, '\0');
  }
  EXPECT_TRUE(lost);
}

TEST(SimulatedMediumTest, CrashesWhereItIsTold) {
  for (const bool torn : {false, true}) {
    auto medium = std::make_shared<SimulatedMedium>(4096, Granule::kSector, 7);
    auto storage = medium->Open();
    medium->CrashAt(2, torn);
    EXPECT_TRUE(storage->Write(0, std::string(1024, 'a')).ok());
    EXPECT_TRUE(storage->Persist(0, 1024).ok());
    EXPECT_FALSE(storage->Write(1024, std::string(3072, 'b')).ok());
    EXPECT_FALSE(storage->Persist(0, 4096).ok());
    EXPECT_TRUE(medium->crashed());
    EXPECT_EQ(medium->bytes().find('b') != std::string::npos, torn);
    medium->LoseProcess();
    EXPECT_TRUE(medium->Open()->Write(0, "alive").ok());
  }
}

TEST(SimulatedMediumTest, NoticesWordsThatComeBeforeTheirData) {
  auto medium = std::make_shared<SimulatedMedium>(64, Granule::kWord, 1);
  auto storage = medium->Open();
  EXPECT_TRUE(storage->Write(8, "data").ok());
  EXPECT_TRUE(storage->Persist(8, 4).ok());
  EXPECT_TRUE(storage->WriteWord(0, 1).ok());
  EXPECT_TRUE(storage->WriteWord(16, 1).ok());
  EXPECT_EQ(medium->words_ahead_of_data(), 0u);
  EXPECT_TRUE(storage->Write(24, "data").ok());
  EXPECT_TRUE(storage->WriteWord(0, 2).ok());
  EXPECT_EQ(medium->words_ahead_of_data(), 1u);
}

TEST(SimulatedMediumTest, WhatIsTakenForCleanIsReadAndLostUnlessItIsWrittenAgain) {
  auto medium = std::make_shared<SimulatedMedium>(24, Granule::kWord, 1);
  auto storage = medium->Open();
  EXPECT_TRUE(storage->Write(0, "111111112222222233333333").ok());
  const Extent first_two[] = {{0, 9}};
  medium->TakeForClean(first_two);
  EXPECT_EQ(After(*storage), "111111112222222233333333");
  EXPECT_TRUE(storage->Write(8, "2").ok());
  EXPECT_TRUE(storage->Persist(0, 24).ok());
  medium->LosePower();
  EXPECT_EQ(After(*medium->Open()), std::string(8, '\0').append("2222222233333333"));
}

TEST(FaultyStorageTest, FailsOnceAndThenSaysThatAllIsWell) {
  auto faults = std::make_shared<Faults>();
  auto medium = std::make_shared<SimulatedMedium>(64, Granule::kWord, 1);
  FaultyStorage storage(medium, faults);
  faults->fail_persist = 2;
  faults->fail_write = 1;
  EXPECT_FALSE(storage.Write(0, "a").ok());
  EXPECT_TRUE(storage.Write(0, "a").ok());
  EXPECT_TRUE(storage.Persist(0, 1).ok());
  EXPECT_FALSE(storage.Persist(0, 1).ok());
  EXPECT_TRUE(storage.Persist(0, 1).ok());
  EXPECT_EQ(faults->persists, 3);
}

}  // namespace
}  // namespace skein::durable::sim
