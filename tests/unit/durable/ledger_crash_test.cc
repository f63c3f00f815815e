// The ledger's host crashes at every step of many scripts, torn and not, and again while it recovers.
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/crashing_service.h"
#include "tests/unit/durable/logged.h"

namespace skein::durable {
namespace {

constexpr int kOperations = 300;

// How the script with this seed goes on when its first life ends at `step`. Returns crashes; 0 if the script is over
// before.
int CrashAt(uint64_t seed, uint64_t step, bool torn) {
  SCOPED_TRACE(absl::StrCat("seed ", seed, ", step ", step, torn ? ", torn" : ""));
  CrashingService service(seed);
  service.medium().CrashAt(step, torn);
  service.Live(kOperations);
  if (!service.medium().crashed()) return 0;
  int crashes = 0;
  for (uint64_t again = 0; again < 3; ++again) {
    service.Lose();
    ++crashes;
    service.medium().CrashAt((seed * 31 + step * 7 + again * 13) % (40 + 100 * again), again % 2 == 0);
    service.Live(kOperations);
  }
  service.Lose();
  service.LiveToTheEnd();
  return crashes + 1;
}

// All crashes at the steps of one script.
int CrashAtEveryStep(uint64_t seed) {
  int crashes = 0;
  for (uint64_t step = 0; !testing::Test::HasFailure(); ++step) {
    const int whole = CrashAt(seed, step, false);
    const int torn = CrashAt(seed, step, true);
    crashes += whole + torn;
    if (whole == 0 && torn == 0) break;
  }
  return crashes;
}

TEST(LedgerCrashTest, AtEveryStepOfManyScripts) {
  int crashes = 0;
  for (uint64_t seed = 0; seed < 12; seed += kFewer) {
    crashes += CrashAtEveryStep(seed);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  RecordProperty("crashes", crashes);
  EXPECT_GE(crashes, 10000 / kFewer);
}

// Long lives, in which the ring goes round many times.
TEST(LedgerLapsTest, CrashesNowAndThen) {
  uint64_t forgotten = 0;
  for (uint64_t seed = 100; seed < 130; seed += kFewer) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    CrashingService service(seed);
    for (uint64_t life = 0; life < 8; ++life) {
      service.medium().CrashAt(200 + (seed * 131 + life * 977) % 1500, life % 2 == 0);
      service.Live(1500);
      service.Lose();
    }
    service.LiveToTheEnd();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    EXPECT_GT(service.executed(), 300u);
    forgotten += service.forgotten();
  }
  EXPECT_GT(forgotten, 100u / kFewer);
}

}  // namespace
}  // namespace skein::durable
