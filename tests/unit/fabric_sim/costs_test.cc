// What things cost in simulated time.
#include "core/fabric/sim/nic.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/fabric_sim/pair.h"

namespace skein::fabric {
namespace {

// One cost at a time: all others are nothing.
SimConfig Free() {
  SimConfig config;
  config.latency = config.jitter = config.doorbell_cost = config.completion_cost = config.write_spread =
      absl::ZeroDuration();
  config.bytes_per_second = uint64_t{1} << 50;
  return config;
}

constexpr absl::Duration kRounding = absl::Microseconds(1);

// From the posts until nothing is left to happen. `batches` posts of `each` WRITEs of `size` bytes.
absl::Duration Cost(const SimConfig& config, size_t batches, size_t each, size_t size) {
  Simulation simulation(/*seed=*/3, config);
  Pair pair(simulation);
  EXPECT_TRUE(pair.status.ok()) << pair.status;
  const Segment local = pair.a.Local(0, size);
  const std::vector<SendRequest> batch(each, Request(Opcode::kWrite, {&local, 1}, pair.b.Remote(0)));
  for (size_t i = 0; i < batches; ++i) EXPECT_TRUE(pair.a.queue_pair->PostSend(batch).ok());
  simulation.RunUntilIdle();
  EXPECT_EQ(pair.a.Poll().size(), batches * each);
  return simulation.now() - absl::UnixEpoch();
}

TEST(Costs, NothingCostsNothing) { EXPECT_LT(Cost(Free(), 4, 4, 64), kRounding); }

TEST(Costs, LatencyIsPaidThereAndBackNotPerRequest) {
  SimConfig config = Free();
  config.latency = absl::Microseconds(100);
  EXPECT_GE(Cost(config, 1, 1, 64), absl::Microseconds(200));
  EXPECT_LT(Cost(config, 1, 16, 64), absl::Microseconds(200) + kRounding);
}

TEST(Costs, BytesShareTheWire) {
  SimConfig config = Free();
  config.bytes_per_second = 1'000'000'000;
  EXPECT_GE(Cost(config, 1, 1, 50'000), absl::Microseconds(50));
  EXPECT_LT(Cost(config, 1, 1, 50'000), absl::Microseconds(50) + kRounding);
  EXPECT_GE(Cost(config, 1, 10, 50'000), absl::Microseconds(500));
}

TEST(Costs, ADoorbellIsPaidPerPostNotPerRequest) {
  SimConfig config = Free();
  config.doorbell_cost = absl::Microseconds(10);
  EXPECT_LT(Cost(config, 1, 16, 64), absl::Microseconds(10) + kRounding);
  EXPECT_GE(Cost(config, 16, 1, 64), absl::Microseconds(160));
}

TEST(Costs, CompletionsArePaidEach) {
  SimConfig config = Free();
  config.completion_cost = absl::Microseconds(10);
  EXPECT_GE(Cost(config, 1, 16, 64), absl::Microseconds(160));
  EXPECT_LT(Cost(config, 1, 1, 64), absl::Microseconds(10) + kRounding);
}

TEST(Costs, APacketIsPaidAtBothEnds) {
  SimConfig config = Free();
  config.packet_cost = absl::Microseconds(10);
  EXPECT_GE(Cost(config, 1, 1, 64), absl::Microseconds(30));  // out, in, and the answer out
  EXPECT_LT(Cost(config, 1, 1, 64), absl::Microseconds(30) + kRounding);
  // The receiver works on one while the sender works on the next.
  EXPECT_LT(Cost(config, 1, 16, 64), absl::Microseconds(180) + kRounding);
}

TEST(Costs, AMessagePaysForEachOfItsPackets) {
  SimConfig config = Free();
  config.packet_cost = absl::Microseconds(10);
  config.packet_bytes = 1000;
  EXPECT_GE(Cost(config, 1, 1, 3001), absl::Microseconds(90));
  EXPECT_LT(Cost(config, 1, 1, 3000), absl::Microseconds(70) + kRounding);
}

TEST(Costs, HeadersTakePartOfTheWire) {
  SimConfig config = Free();
  config.bytes_per_second = 1'000'000'000;
  config.packet_bytes = 1000;
  config.packet_header_bytes = 500;
  EXPECT_GE(Cost(config, 1, 1, 10'000), absl::Microseconds(15));
  EXPECT_LT(Cost(config, 1, 1, 10'000), absl::Microseconds(16) + kRounding);  // and the answer's
}

// The time of `rounds` WRITEs on each of `pairs` queue pairs between two devices, in turn.
absl::Duration TurnCost(const SimConfig& config, size_t pairs, size_t rounds) {
  Simulation simulation(/*seed=*/3, config);
  std::vector<std::unique_ptr<Pair>> all;
  for (size_t i = 0; i < pairs; ++i) all.push_back(std::make_unique<Pair>(simulation));
  for (size_t i = 0; i < rounds; ++i) {
    for (const auto& pair : all) {
      const Segment local = pair->a.Local(0, 64);
      EXPECT_TRUE(pair->a.queue_pair->PostSend({Request(Opcode::kWrite, {&local, 1}, pair->b.Remote(0))}).ok());
    }
    simulation.RunUntilIdle();
  }
  return simulation.now() - absl::UnixEpoch();
}

TEST(Costs, QueuePairsBeyondTheCacheMissIt) {
  SimConfig config = Free();
  config.queue_pair_cache = 8;
  config.queue_pair_miss_cost = absl::Microseconds(10);
  constexpr size_t kRounds = 20;
  // Each queue pair's first message misses, at both ends; with as many as fit, no other.
  EXPECT_LT(TurnCost(config, 8, kRounds), absl::Microseconds(10) * (8 + 1) + kRounds * kRounding);
  // Four times as many, in turn: nearly each message does.
  EXPECT_GT(TurnCost(config, 32, kRounds), absl::Microseconds(10) * 32 * kRounds * 8 / 10);
}

TEST(Costs, ASharedWireInDelaysWhenSeveralSend) {
  SimConfig config = Free();
  config.bytes_per_second = 1'000'000'000;
  sim::Nic nic(config);
  const absl::Time now = absl::UnixEpoch();
  EXPECT_EQ(nic.Receive(now, 1, 50'000), now);
  EXPECT_EQ(nic.Receive(now, 2, 50'000), now + absl::Microseconds(50));
}

}  // namespace
}  // namespace skein::fabric
