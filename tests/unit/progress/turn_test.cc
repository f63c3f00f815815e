// How long a thread's turn is, and which absences the turns of a process's own threads explain.
#include "core/progress/turn.h"

#include "gtest/gtest.h"

namespace skein::progress {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Deadline kNow{std::chrono::hours(1)};

TEST(TurnTest, AThreadThatAlwaysFindsMessagesLetsOthersRunTenTimesInAMillisecond) {
  Turn turn;
  turn.Begin(kNow);
  EXPECT_FALSE(turn.Over(kNow + microseconds(99)));
  EXPECT_TRUE(turn.Over(kNow + microseconds(100)));
}

TEST(TurnTest, ANewTurnBeginsWithEachYield) {
  Turn turn;
  turn.Begin(kNow);
  turn.Begin(kNow + microseconds(99));
  EXPECT_FALSE(turn.Over(kNow + microseconds(198)));
}

TEST(TurnTest, AThreadThatHasNeverYieldedDoesSoAtItsFirstWait) { EXPECT_TRUE(Turn().Over(kNow)); }

void YieldTimes(Turns& turns, int times, microseconds away) {
  for (int i = 0; i < times; ++i) turns.Yielded(away);
}

TEST(TurnsTest, OwnThreadsExplainAnAbsenceInWhichTheyTookTurns) {
  Turns turns;
  YieldTimes(turns, 100, microseconds(100));
  const uint64_t before = turns.so_far();
  YieldTimes(turns, 5, microseconds(100));
  EXPECT_TRUE(turns.Explain(milliseconds(1), before));
  EXPECT_FALSE(turns.Explain(milliseconds(2), before)) << "only those of the absence count";
}

TEST(TurnsTest, AnotherProgramsSliceIsNotExplainedByAFewTurns) {
  Turns turns;
  YieldTimes(turns, 7, milliseconds(3));
  EXPECT_FALSE(turns.Explain(milliseconds(3), 0));
}

TEST(TurnsTest, YieldsThatFindNobodyReadyExplainNothing) {
  Turns turns;
  YieldTimes(turns, 1000, microseconds(9));
  EXPECT_FALSE(turns.Explain(milliseconds(1), 0));
}

}  // namespace
}  // namespace skein::progress
