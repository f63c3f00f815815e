// How long a thread's turn is, and which absences the process's own threads account for.
#include "core/wait/turn.h"

#include "gtest/gtest.h"

namespace skein::wait {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Deadline kNow{std::chrono::hours(1)};
constexpr int kProcessors = 2;

TEST(TurnTest, AThreadThatAlwaysFindsMessagesLetsOthersRunTenTimesInAMillisecond) {
  Turn turn;
  turn.Begin(kNow, microseconds(0));
  EXPECT_FALSE(turn.Over(kNow + microseconds(99)));
  EXPECT_TRUE(turn.Over(kNow + microseconds(100)));
}

TEST(TurnTest, AThreadThatHasNeverYieldedDoesSoAtItsFirstWait) { EXPECT_TRUE(Turn().Over(kNow)); }

TEST(TurnTest, YieldsToAnotherProgramCostATenthOfTheTimeAtMost) {
  Turn turn;
  turn.Begin(kNow, milliseconds(3));
  EXPECT_FALSE(turn.Over(kNow + milliseconds(29)));
  EXPECT_TRUE(turn.Over(kNow + milliseconds(30)));
  turn.Begin(kNow, microseconds(0));
  EXPECT_TRUE(turn.Over(kNow + microseconds(100))) << "the other program has ended";
}

TEST(TurnTest, AThreadThatHasSleptForLongCountsAsHavingRunForAShortTurn) {
  Turn turn;
  turn.Begin(kNow, microseconds(0));
  EXPECT_EQ(turn.Ran(kNow + microseconds(40)), microseconds(40));
  EXPECT_EQ(turn.Ran(kNow + milliseconds(40)), Turn::kShortest);
}

TEST(TurnsTest, OwnThreadsExplainAnAbsenceInWhichTheyRanForAThirdOfTheProcessors) {
  Turns turns;
  turns.Add(milliseconds(100));
  const Clock::duration before = turns.ran();
  turns.Add(microseconds(1999));
  EXPECT_FALSE(turns.Explain(milliseconds(3), before, kProcessors)) << "only the turns of the absence count";
  turns.Add(microseconds(1));
  EXPECT_TRUE(turns.Explain(milliseconds(3), before, kProcessors));
}

TEST(TurnsTest, SpinnersThatYieldToEachOtherOnAnotherProcessorExplainNothing) {
  Turns turns;
  for (int yields = 0; yields < 700; ++yields) turns.Add(microseconds(2));  // in 3 ms, of 2 us and the yield each
  EXPECT_FALSE(turns.Explain(milliseconds(3), {}, kProcessors));
}

TEST(TurnsTest, AnotherProgramsSliceIsNotExplainedByAFewTurns) {
  Turns turns;
  for (int threads = 0; threads < 7; ++threads) turns.Add(Turn::kShortest);
  EXPECT_FALSE(turns.Explain(milliseconds(3), {}, kProcessors));
}

}  // namespace
}  // namespace skein::wait
