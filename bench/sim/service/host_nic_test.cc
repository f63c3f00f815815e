#include "bench/sim/service/host_nic.h"

#include <vector>

#include "gtest/gtest.h"

namespace skein::bench {
namespace {

class HostNicTest : public ::testing::Test {
 protected:
  static Costs Simple() {
    Costs costs = Calibrated();
    costs.nic.bytes_per_second = 1'000'000'000;  // a byte a nanosecond
    costs.nic.packet_header_bytes = 0;
    costs.nic.packet_cost = absl::ZeroDuration();
    costs.nic.queue_pair_cache = 0;
    return costs;
  }
  void Post(uint64_t queue_pair, bool read, uint64_t bytes, int name) {
    HostNic::Request request;
    request.read = read;
    request.bytes = bytes;
    request.peer = &other_;
    request.peer_queue_pair = queue_pair;
    request.arrived = [this, name] { arrived_.push_back(name); };
    request.completed = [this, name] {
      completed_.push_back(name);
      last_ = events_.now() - absl::UnixEpoch();
    };
    one_.Post(queue_pair, std::move(request));
  }
  void Run() {
    while (events_.size() > 0) events_.PopNext().action();
  }

  fabric::sim::EventQueue events_;
  Costs costs_ = Simple();
  HostNic one_{events_, costs_};
  HostNic other_{events_, costs_};
  std::vector<int> arrived_;
  std::vector<int> completed_;
  absl::Duration last_;
};

TEST_F(HostNicTest, AWriteArrivesAndIsAcknowledged) {
  Post(1, false, 1000, 7);
  Run();
  EXPECT_EQ(arrived_, std::vector{7});
  EXPECT_EQ(completed_, std::vector{7});
  // Its bytes, there and back; a nanosecond each for a NIC that never sends in the instant of the post.
  EXPECT_EQ(last_, absl::Nanoseconds(1000 + 2) + 2 * costs_.nic.latency);
}

TEST_F(HostNicTest, AReadBringsItsBytes) {
  Post(1, true, 5000, 7);
  Run();
  EXPECT_EQ(completed_, std::vector{7});
  EXPECT_EQ(last_, absl::Nanoseconds(5000 + 2) + 2 * costs_.nic.latency);
}

TEST_F(HostNicTest, QueuePairsTakeTurnsByBursts) {
  Post(1, false, 64 << 10, 1);
  Post(2, false, 1 << 10, 2);
  Post(1, false, 1 << 10, 3);
  Run();
  EXPECT_EQ(arrived_, (std::vector{2, 1, 3}));  // the large one has not to be through; its successor waits for it
}

TEST_F(HostNicTest, EachBurstLooksForTheStateOfItsQueuePair) {
  costs_.nic.queue_pair_cache = 1;
  costs_.nic.queue_pair_miss_cost = absl::Nanoseconds(1);
  HostNic small(events_, costs_);
  for (uint64_t i = 0; i < 2; ++i) {
    HostNic::Request request;
    request.bytes = 64 << 10;
    request.peer = &other_;
    request.peer_queue_pair = i;
    small.Post(i, std::move(request));
  }
  Run();
  // 64 bursts of each, in turn, and the acknowledgements.
  EXPECT_EQ(small.messages(), 130U);
  EXPECT_GE(small.cache_misses(), 128U);
}

TEST_F(HostNicTest, ReadsBeyondThoseUnderWayWaitAndHoldUpWhatFollows) {
  costs_.reads_a_queue_pair = 2;
  for (int name = 0; name < 3; ++name) Post(1, true, 1000, name);
  Post(1, false, 8, 9);
  Run();
  EXPECT_EQ(completed_, (std::vector{0, 1, 2, 9}));
  // The third one's request leaves when the first one's answer is here.
  EXPECT_GT(last_, absl::Nanoseconds(2000) + 4 * costs_.nic.latency);
}

TEST_F(HostNicTest, SendsNothingToAHostThatTooMuchWaitsFor) {
  HostNic third(events_, costs_);
  costs_.switch_bytes = 4096;
  Post(1, false, 1 << 20, 1);
  HostNic::Request request;
  request.bytes = 1 << 20;
  request.peer = &other_;
  request.peer_queue_pair = 2;
  absl::Duration end;
  request.completed = [&] { end = events_.now() - absl::UnixEpoch(); };
  third.Post(2, std::move(request));
  // Halfway each has sent a half, where without pausing both would have sent all.
  while (events_.now() < absl::UnixEpoch() + absl::Nanoseconds(1 << 20)) events_.PopNext().action();
  EXPECT_NEAR(static_cast<double>(other_.messages()), 1024, 30);
  Run();
  EXPECT_NEAR(absl::ToDoubleMicroseconds(std::max(end, last_)), 2097.1, 10);
}

}  // namespace
}  // namespace skein::bench
