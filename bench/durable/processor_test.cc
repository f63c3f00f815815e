#include "bench/durable/processor.h"

#include "gtest/gtest.h"

namespace skein::bench::durable {
namespace {

absl::Time At(int64_t milliseconds) { return absl::UnixEpoch() + absl::Milliseconds(milliseconds); }

TEST(CoreShareTest, AThreadAloneTakesWhatItsWorkCosts) {
  EXPECT_EQ(CoreShare{}.TimeOf(absl::Milliseconds(7), At(3)), absl::Milliseconds(7));
}

TEST(CoreShareTest, AThreadThatSharesHasEveryOtherTurn) {
  const CoreShare share{.turn = absl::Milliseconds(4), .phase = absl::ZeroDuration()};
  struct {
    int now;
    int cost;
    int takes;
  } const rows[] = {
      {0, 1, 1},  {0, 4, 4}, {3, 1, 1},          // within its turn
      {3, 2, 6},  {0, 5, 9}, {2, 10, 18},        // the other thread's turns in between
      {4, 1, 5},  {7, 4, 5}, {6, 9, 2 + 9 + 8},  // in the other's turn
      {0, 8, 12}, {8, 1, 1},                     // whole turns; the next round
  };
  for (const auto& [now, cost, takes] : rows) {
    EXPECT_EQ(share.TimeOf(absl::Milliseconds(cost), At(now)), absl::Milliseconds(takes)) << now << " " << cost;
  }
}

TEST(CoreShareTest, ThePhaseMovesTheTurns) {
  const CoreShare share{.turn = absl::Milliseconds(4), .phase = absl::Milliseconds(4)};
  EXPECT_EQ(share.TimeOf(absl::Milliseconds(1), At(0)), absl::Milliseconds(5));
  EXPECT_EQ(share.TimeOf(absl::Milliseconds(1), At(4)), absl::Milliseconds(1));
}

TEST(CoreTest, WorkHappensAtItsEndAndWhatItOwesComesOnTop) {
  fabric::Simulation simulation(1);
  Core core(simulation, {.turn = absl::Milliseconds(4), .phase = absl::ZeroDuration()});
  core.Owe(absl::Milliseconds(2));
  absl::Time ended;
  core.Run(absl::Milliseconds(3), [&] { ended = simulation.now(); });
  EXPECT_TRUE(core.busy());
  simulation.RunUntilIdle();
  EXPECT_FALSE(core.busy());
  EXPECT_EQ(ended, At(9));
}

}  // namespace
}  // namespace skein::bench::durable
