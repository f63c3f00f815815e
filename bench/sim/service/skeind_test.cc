#include "bench/sim/service/skeind.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace skein::bench {
namespace {

class SkeindTest : public ::testing::Test {
 protected:
  SkeindTest() : cluster_({.seed = 1}, Calibrated()) {}

  void Start(const Skeind::Threads& threads, size_t trunks = 2) {
    skeind_ = std::make_unique<Skeind>(cluster_, nic_, 1, trunks, threads);
  }
  absl::Duration Submit(uint64_t connection, size_t trunk, bool waits = true) {
    Skeind::Request request;
    request.trunk = trunk;
    request.wire.bytes = 64;
    request.wire.peer = &other_;
    request.wire.peer_queue_pair = trunk;
    request.wire.arrived = [this, connection] { arrived_.push_back(connection); };
    if (waits) request.completed = {&process_, [this, connection] { completed_.push_back(connection); }};
    return skeind_->Submit(connection, std::move(request), absl::ZeroDuration());
  }
  void RunFor(absl::Duration time) {
    const absl::Time end = cluster_.now() + time;
    while (cluster_.events.next_time() <= end) cluster_.events.PopNext().action();
    cluster_.events.AdvanceTo(end);
  }
  // skeind is busy so long with `count` requests of as many connections, submitted together.
  absl::Duration BusyWith(const Skeind::Threads& threads, int count) {
    Start(threads);
    for (int i = 0; i < count; ++i) Submit(i, i % 2, /*waits=*/false);
    RunFor(absl::Milliseconds(1));
    return skeind_->busy();
  }

  Cluster cluster_;
  HostNic nic_{cluster_.events, cluster_.costs};
  HostNic other_{cluster_.events, cluster_.costs};
  PollThread process_{
      cluster_.events, cluster_.random, {absl::InfiniteDuration(), absl::ZeroDuration(), absl::ZeroDuration()}, [] {
        return absl::ZeroDuration();
      }};
  std::vector<uint64_t> arrived_;
  std::vector<uint64_t> completed_;
  std::unique_ptr<Skeind> skeind_;
};

TEST_F(SkeindTest, CarriesRequestsAndTellsOfThem) {
  for (const Skeind::Threads& threads :
       {Skeind::Threads{}, Skeind::Threads{.workers = 2}, Skeind::Threads{.workers = 2, .poller = true, .refill = true},
        Skeind::Threads{.workers = 2, .one_queue = true, .one_doorbell = true, .epoll = true}}) {
    Start(threads);
    arrived_.clear();
    completed_.clear();
    for (uint64_t i = 0; i < 100; ++i) Submit(i % 5, i % 5 % 2);
    RunFor(absl::Milliseconds(1));
    EXPECT_EQ(arrived_.size(), 100U);
    EXPECT_EQ(completed_.size(), 100U);
  }
}

TEST_F(SkeindTest, AConnectionHasItsTurnAndThenOthersHave) {
  Start({}, 1);
  for (int i = 0; i < 20; ++i) Submit(1, 0);
  Submit(2, 0);
  RunFor(absl::Milliseconds(1));
  ASSERT_EQ(arrived_.size(), 21U);
  EXPECT_EQ(arrived_[15], 1U);
  EXPECT_EQ(arrived_[16], 2U);  // after sixteen of the first one's
  EXPECT_EQ(arrived_[17], 1U);
}

TEST_F(SkeindTest, MoreThanATrunkHoldsWaitForIt) {
  Start({}, 1);
  for (int i = 0; i < 2000; ++i) Submit(i % 3, 0, /*waits=*/false);
  RunFor(absl::Milliseconds(10));
  EXPECT_EQ(arrived_.size(), 2000U);
}

TEST_F(SkeindTest, WhoeverFindsItBlockedPaysForItsWaking) {
  Start({});
  EXPECT_EQ(Submit(1, 0), absl::ZeroDuration());  // it polls
  RunFor(absl::Milliseconds(1));
  EXPECT_EQ(Submit(1, 0), cluster_.costs.service.wake);
  RunFor(absl::Milliseconds(1));
  EXPECT_EQ(completed_.size(), 2U);
}

TEST_F(SkeindTest, TellsOfWhatArrives) {
  Start({.workers = 1, .poller = true, .refill = true});
  int heard = 0;
  for (int i = 0; i < 1000; ++i) skeind_->Arrived(0, {&process_, [&] { ++heard; }});
  RunFor(absl::Milliseconds(2));
  EXPECT_EQ(heard, 1000);
  // Entries, and receives: 512 had been used up when the second batch was posted.
  EXPECT_GT(skeind_->busy(), cluster_.costs.service.arrival * 1000);
}

TEST_F(SkeindTest, RingingOnceForManySparesDoorbells) {
  const absl::Duration each = BusyWith({}, 40);
  const absl::Duration once = BusyWith({.one_doorbell = true}, 40);
  // Two trunks, in one round.
  EXPECT_GE(each - once, cluster_.costs.cpu.doorbell * 30);
}

TEST_F(SkeindTest, LooksAtEachTrunkAndSocketCost) {
  Start({}, 200);
  Submit(1, 0, false);
  RunFor(absl::Milliseconds(1));
  const absl::Duration many = skeind_->busy();
  Start({.one_queue = true, .epoll = true}, 200);
  Submit(1, 0, false);
  RunFor(absl::Milliseconds(1));
  EXPECT_GT(many, skeind_->busy() + 399 * cluster_.costs.service.socket);
}

}  // namespace
}  // namespace skein::bench
