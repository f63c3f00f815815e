#include "bench/sim/ud/run.h"

#include "gtest/gtest.h"

namespace skein::bench {
namespace {

class UdRunTest : public ::testing::Test {
 protected:
  static Scenario Small() {
    Scenario scenario;
    scenario.hosts = 2;
    scenario.threads = 2;
    scenario.outstanding = 2;
    scenario.warm_up = absl::Microseconds(100);
    scenario.measured = absl::Microseconds(400);
    return scenario;
  }
  static Outcome Run(const Scenario& scenario, const UdCosts& ud = {}) {
    Costs costs = Calibrated();
    costs.ud = ud;
    return RunUd(scenario, costs).value();
  }
};

TEST_F(UdRunTest, ASeedHasOneOutcome) {
  const Outcome one = Run(Small());
  const Outcome other = Run(Small());
  EXPECT_GT(one.requests_per_second, 0);
  EXPECT_EQ(one.requests_per_second, other.requests_per_second);
  EXPECT_EQ(one.p99_us, other.p99_us);
}

TEST_F(UdRunTest, NoQueuePairMissesTheNicsCacheHoweverManyClientsThereAre) {
  Scenario scenario = Small();
  scenario.threads = 600;  // 1,200 of them; the cache holds 960
  scenario.outstanding = 1;
  EXPECT_EQ(Run(scenario).nic_misses, 0);
}

TEST_F(UdRunTest, ManyRequestsShareTheServersDoorbells) {
  Scenario scenario = Small();
  EXPECT_LT(Run(scenario).requests_per_response, 3);
  scenario.hosts = 8;
  scenario.threads = 32;
  scenario.outstanding = 8;
  const Outcome busy = Run(scenario);
  EXPECT_GT(busy.requests_per_response, 8);
  EXPECT_GT(busy.server_busy, 0.95);
}

TEST_F(UdRunTest, LostDatagramsAreSentAgain) {
  UdCosts ud;
  ud.loss = 0.01;
  ud.retransmission = absl::Microseconds(50);
  const Outcome lossy = Run(Small(), ud);
  EXPECT_GT(lossy.requests_per_second, Run(Small()).requests_per_second / 4);
  EXPECT_GT(lossy.p99_us, 50);
}

TEST_F(UdRunTest, LargeRequestsTakeMoreDatagrams) {
  Scenario scenario = Small();
  scenario.large_percent = 100;
  scenario.large_bytes = 8192;
  UdCosts ud;
  ud.credits = 1;
  const Outcome one_by_one = Run(scenario, ud);
  const Outcome together = Run(scenario);
  EXPECT_GT(one_by_one.p50_us, 9 * 2.0);  // nine round trips
  EXPECT_LT(together.p50_us, one_by_one.p50_us / 2);
}

}  // namespace
}  // namespace skein::bench
