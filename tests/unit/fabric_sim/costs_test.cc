// What things cost in simulated time.
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

}  // namespace
}  // namespace skein::fabric
