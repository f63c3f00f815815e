#include "bench/sim/ud/endpoint.h"

#include <vector>

#include "gtest/gtest.h"

namespace skein::bench {
namespace {

// Counts what arrives.
class Sink final : public UdEndpoint::Owner {
 public:
  void OnDatagram(const Datagram& datagram) override { numbers.push_back(datagram.number); }
  void OnDoorbell(size_t datagrams) override { doorbells.push_back(datagrams); }
  void OnTimers() override {
    if (sends != nullptr) {
      for (size_t i = 0; i < count; ++i) sends->Send(*to, {.number = i});
    }
    count = 0;
  }

  std::vector<size_t> numbers;
  std::vector<size_t> doorbells;
  UdEndpoint* sends = nullptr;
  UdQueuePair* to = nullptr;
  size_t count = 0;
};

class EndpointTest : public ::testing::Test {
 protected:
  static Costs Small(double loss = 0) {
    Costs costs = Calibrated();
    costs.ud.receives = 40;
    costs.ud.loss = loss;
    return costs;
  }
  // So many datagrams go from one endpoint to the other.
  struct Pair {
    explicit Pair(const Costs& costs) : cluster({}, costs) {
      sender.sends = &from;
      sender.to = &to.queue_pair();
    }
    void Send(size_t datagrams) {
      sender.count = datagrams;
      from.Notice();
      while (cluster.events.size() > 0) cluster.events.PopNext().action();
    }

    Cluster cluster;
    Host one{cluster.costs.nic};
    Host other{cluster.costs.nic};
    Sink sender;
    Sink receiver;
    UdEndpoint from{cluster, sender, one, 0};
    UdEndpoint to{cluster, receiver, other, 0};
  };
};

TEST_F(EndpointTest, DatagramsArriveInOrder) {
  Pair pair(Small());
  pair.Send(3);
  EXPECT_EQ(pair.receiver.numbers, (std::vector<size_t>{0, 1, 2}));
}

TEST_F(EndpointTest, ADoorbellIsForABatch) {
  Pair pair(Small());
  pair.Send(20);
  EXPECT_EQ(pair.sender.doorbells, (std::vector<size_t>{16, 4}));
}

TEST_F(EndpointTest, ReceivesArePostedAgainInBatches) {
  Pair pair(Small());
  pair.Send(31);
  EXPECT_EQ(pair.to.queue_pair().posted(), 9U);
  pair.Send(1);
  EXPECT_EQ(pair.to.queue_pair().posted(), 40U);
}

TEST_F(EndpointTest, ADatagramThatFindsNoReceiveIsLost) {
  Costs costs = Small();
  costs.ud.receives = 2;
  Pair pair(costs);
  pair.Send(3);
  EXPECT_EQ(pair.receiver.numbers.size(), 2U);
  EXPECT_EQ(pair.to.queue_pair().dropped(), 1U);
}

TEST_F(EndpointTest, DatagramsGetLostAtTheRateThatIsSet) {
  Pair all(Small(1.0));
  all.Send(5);
  EXPECT_TRUE(all.receiver.numbers.empty());
  Pair half(Small(0.5));
  for (int i = 0; i < 100; ++i) half.Send(10);
  EXPECT_NEAR(static_cast<double>(half.receiver.numbers.size()), 500, 100);
}

TEST_F(EndpointTest, EachDatagramCostsItsReceiverItsLines) {
  Costs costs = Small();
  Pair pair(costs);
  pair.Send(1);
  const absl::Time one = pair.cluster.now();
  costs.ud.lines = 0;
  Pair fast(costs);
  fast.Send(1);
  EXPECT_EQ(one - fast.cluster.now(), 2 * costs.cpu.dma_line);
}

}  // namespace
}  // namespace skein::bench
