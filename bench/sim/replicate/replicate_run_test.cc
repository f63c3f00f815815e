#include "bench/sim/replicate/replicate_run.h"

#include "gtest/gtest.h"

namespace skein::bench {
namespace {

using replicate::ScheduleKind;

// 8 blocks of 1,000 packets each.
ReplicateRun Small(uint32_t receivers, ScheduleKind kind = ScheduleKind::kBinomialPipeline) {
  return {.schedule = kind, .receivers = receivers, .bytes = 8'192'000, .block_bytes = 1'024'000};
}

double Milliseconds(const ReplicateRun& run) { return absl::ToDoubleMilliseconds(RunWrite(run, Calibrated()).all); }

TEST(ReplicateRunTest, OneCopyTakesWhatTheWireTakes) {
  const double wire = 8000 * (1024 + 98) / 12.5e6;
  EXPECT_GT(Milliseconds(Small(1)), wire);
  // The last block's packets pass the receiver's unit behind the wire: 15 us; and flight, and threads.
  EXPECT_LT(Milliseconds(Small(1)), wire + 0.035);
}

TEST(ReplicateRunTest, EachReceiverGetsEachBlock) {
  for (const ScheduleKind kind : replicate::kAllSchedules) {
    for (const uint32_t receivers : {1U, 2U, 6U, 15U}) {
      EXPECT_EQ(RunWrite(Small(receivers, kind), Calibrated()).blocks_received, 8 * receivers);
    }
  }
}

TEST(ReplicateRunTest, SchedulesTakeTheirSteps) {
  const double block = 1000 * (1024 + 98) / 12.5e6;  // of the wire
  EXPECT_NEAR(Milliseconds(Small(7, ScheduleKind::kSequential)), 56 * block, block);
  // A step that waits for the one before costs a block's way through the receiver's unit, too: a sixth more.
  EXPECT_GT(Milliseconds(Small(7, ScheduleKind::kBinomialTree)), 24 * block);
  EXPECT_LT(Milliseconds(Small(7, ScheduleKind::kBinomialTree)), 26 * block);
  EXPECT_GT(Milliseconds(Small(7)), 10 * block);
  EXPECT_LT(Milliseconds(Small(7)), 15 * block);
}

TEST(ReplicateRunTest, CopiesCostTheThreadsOfRelaysTwice) {
  ReplicateRun run = Small(1);
  run.copies = true;
  const double one = Milliseconds(run);
  run.receivers = 7;
  EXPECT_GT(Milliseconds(run), 1.5 * one);
}

TEST(ReplicateRunTest, AMemberWithHalfTheRateIsWaitedFor) {
  ReplicateRun run = Small(1);
  run.slow = 1;
  EXPECT_NEAR(Milliseconds(run), 2 * Milliseconds(Small(1)), 0.1 * Milliseconds(run));
}

}  // namespace
}  // namespace skein::bench
