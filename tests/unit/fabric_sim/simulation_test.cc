// What a Simulation promises beyond the fabric contract: time, determinism, and the failures it can be asked for.
#include "core/fabric/sim/simulation.h"

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/unit/fabric_sim/pair.h"

namespace skein::fabric {
namespace {

constexpr uint64_t kSeed = 20261;

TEST(Simulation, MovesBytesOnlyWhenTimeIsMoved) {
  Simulation simulation(kSeed);
  Pair pair(simulation);
  ASSERT_TRUE(pair.status.ok()) << pair.status;
  std::memcpy(pair.a.at(0), "hello, world", 12);
  ASSERT_TRUE(Post(*pair.a.queue_pair, Opcode::kWrite, pair.a.Local(0, 12), pair.b.Remote(64)).ok());
  EXPECT_TRUE(pair.a.Poll().empty());
  EXPECT_EQ(pair.b.at(64)[0], std::byte{0});

  simulation.RunUntilIdle();
  EXPECT_EQ(std::memcmp(pair.b.at(64), "hello, world", 12), 0);
  const auto completions = pair.a.Poll();
  ASSERT_EQ(completions.size(), 1u);
  EXPECT_EQ(completions[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(simulation.pending_events(), 0u);
  EXPECT_GE(simulation.now() - absl::UnixEpoch(), 2 * SimConfig{}.latency);
}

}  // namespace
}  // namespace skein::fabric
