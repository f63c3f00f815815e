// Which replicas have which batches, and how long Await waits for them.
#include "core/durable/replicas/journal.h"

#include <atomic>
#include <string>
#include <thread>

#include "core/trace/counters.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::durable {
namespace {

uint64_t WriteBatch(Journal& journal) {
  const absl::string_view piece = "bytes";
  journal.Write(0, {&piece, 1});
  return journal.Seal();
}

TEST(JournalTest, ABatchIsSafeOnceSoManyLogsHaveItWhicheverTheyAre) {
  Journal journal({.replicas = {"b", "c", "d"}, .acknowledge = 3, .patience = absl::ZeroDuration()});
  EXPECT_FALSE(journal.Await(0).ok()) << "too few logs are there";
  const uint64_t first = WriteBatch(journal);
  const uint64_t second = WriteBatch(journal);
  journal.Have(0, first);
  journal.Have(2, second);
  EXPECT_TRUE(journal.Await(first).ok());
  EXPECT_FALSE(journal.Await(second).ok());
  journal.Have(1, second);
  EXPECT_TRUE(journal.Await(second).ok());
  journal.Lack(2, absl::UnavailableError("gone"));
  EXPECT_FALSE(journal.Await(second).ok());
  EXPECT_TRUE(journal.Await(first).ok());
}

TEST(JournalTest, ReplicasAreCountedAndThoseThatFollow) {
  const auto counted = [before = trace::ReadCounters()](trace::Counter counter) {
    return trace::ReadCounters().Value(counter) - before.Value(counter);
  };
  {
    Journal journal({.replicas = {"b", "c"}, .acknowledge = 2});
    EXPECT_EQ(counted(trace::Counter::kReplicas), 2u);
    EXPECT_EQ(counted(trace::Counter::kReplicasFollowing), 0u);
    journal.Have(0, WriteBatch(journal));
    journal.Have(0, WriteBatch(journal));
    journal.Copying(1, 1, 2);
    EXPECT_EQ(counted(trace::Counter::kReplicasFollowing), 1u);
    journal.Have(1, 2);
    EXPECT_EQ(counted(trace::Counter::kReplicasFollowing), 2u);
    journal.Lack(0, absl::UnavailableError("gone"));
    EXPECT_EQ(counted(trace::Counter::kReplicasFollowing), 1u);
  }
  EXPECT_EQ(counted(trace::Counter::kReplicas), 0u);
  EXPECT_EQ(counted(trace::Counter::kReplicasFollowing), 0u);
}

TEST(JournalTest, WithMoreLogsToAcknowledgeThanThereAreNothingIsSafe) {
  Journal journal({.replicas = {"b"}, .acknowledge = 3, .patience = absl::ZeroDuration()});
  const uint64_t number = WriteBatch(journal);
  journal.Have(0, number);
  EXPECT_FALSE(journal.Await(number).ok());
}

TEST(JournalTest, WhoeverWaitsIsToldHowFarACopyHasCome) {
  Journal journal({.replicas = {"b"}, .acknowledge = 2, .patience = absl::ZeroDuration()});
  journal.Copying(0, uint64_t{3} << 20, uint64_t{64} << 20);
  const absl::Status status = journal.Await(WriteBatch(journal));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("b: is being sent a copy, 3 of 64 MiB"));
}

TEST(JournalTest, ACopyThatMovesIsWaitedForBeyondThePatience) {
  constexpr absl::Duration kPatience = absl::Seconds(2);
  Journal journal({.replicas = {"b"}, .acknowledge = 2, .patience = kPatience});
  const uint64_t number = WriteBatch(journal);
  std::thread copying([&] {
    for (const Deadline end = After(1.2 * kPatience); Clock::now() < end;) {
      journal.Copying(0, 1, 2);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    journal.Have(0, number);
  });
  EXPECT_TRUE(journal.Await(number).ok());
  copying.join();
}

}  // namespace
}  // namespace skein::durable
