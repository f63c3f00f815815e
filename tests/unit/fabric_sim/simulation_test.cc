// What a Simulation promises beyond the fabric contract: time, determinism, order, and when memory is read and written.
#include "core/fabric/sim/simulation.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/fabric_sim/pair.h"

namespace skein::fabric {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kSeed = 20261;

TEST(Simulation, MovesBytesOnlyWhenTimeIsMoved) {
  Simulation simulation(kSeed);
  Pair pair(simulation);
  ASSERT_TRUE(pair.status.ok()) << pair.status;
  pair.a.Put(0, "hello, world");
  ASSERT_TRUE(Post(*pair.a.queue_pair, Opcode::kWrite, pair.a.Local(0, 12), pair.b.Remote(64)).ok());
  EXPECT_THAT(pair.a.Poll(), IsEmpty());
  EXPECT_EQ(pair.b.GetWord(64), 0u);

  simulation.RunUntilIdle();
  EXPECT_EQ(pair.b.Get(64, 12), "hello, world");
  EXPECT_THAT(Statuses(pair.a.Poll()), ElementsAre(CompletionStatus::kSuccess));
  EXPECT_EQ(simulation.pending_events(), 0u);
  EXPECT_GE(simulation.now() - absl::UnixEpoch(), 2 * SimConfig{}.latency);
}

TEST(Simulation, DevicesGoByName) {
  Simulation simulation(kSeed);
  const auto a = simulation.CreateDevice("a");
  EXPECT_EQ(a->name(), "sim:a");
  EXPECT_EQ(simulation.CreateDevice("a"), a);
  EXPECT_NE(simulation.CreateDevice("b"), a);
}

TEST(Simulation, RunForRunsWhatIsDueAndNoMore) {
  Simulation simulation(kSeed);
  std::vector<int> ran;
  // Actions run with no lock held: they may use the simulation.
  simulation.Schedule(absl::Microseconds(10), [&] {
    ran.push_back(10);
    simulation.Schedule(absl::Microseconds(5), [&] { ran.push_back(15); });
  });
  simulation.Schedule(absl::Microseconds(2), [&] { ran.push_back(2); });
  simulation.RunFor(absl::Microseconds(9));
  EXPECT_THAT(ran, ElementsAre(2));
  EXPECT_EQ(simulation.now(), absl::UnixEpoch() + absl::Microseconds(9));
  simulation.RunUntilIdle();
  EXPECT_THAT(ran, ElementsAre(2, 10, 15));
  EXPECT_FALSE(simulation.Step());
}

// Everything that can be observed of a busy run, step by step.
std::string Trace(uint64_t seed) {
  Simulation simulation(seed);
  Pair pair(simulation);
  const auto other_a = pair.a.NewQueuePair();
  const auto other_b = pair.b.NewQueuePair();
  if (!pair.status.ok() || !Connect(*other_a, *other_b).ok()) return "not connected";
  const std::map<const QueuePair*, int> names = {
      {pair.a.queue_pair.get(), 1}, {pair.b.queue_pair.get(), 2}, {other_a.get(), 3}, {other_b.get(), 4}};
  for (uint64_t id = 0; id < 20; ++id) {
    pair.a.PutWord(8 * id, id + 1);
    QueuePair& queue_pair = id % 3 == 0 ? *other_a : *pair.a.queue_pair;
    if (!PostReceive(id % 3 == 0 ? *other_b : *pair.b.queue_pair, pair.b.Local(4096 + 64 * id, 64), id).ok()) return "";
    const Opcode opcode = id % 2 == 0 ? Opcode::kSend : Opcode::kWrite;
    if (!Post(queue_pair, opcode, pair.a.Local(0, 8 * id + 8), pair.b.Remote(1024), id).ok()) return "";
  }
  std::string trace;
  while (simulation.Step()) {
    absl::StrAppend(&trace, absl::FormatDuration(simulation.now() - absl::UnixEpoch()));
    for (size_t offset = 1024; offset < 1024 + 160; offset += 8) absl::StrAppend(&trace, " ", pair.b.GetWord(offset));
    for (const End* end : {&pair.a, &pair.b}) {
      for (const Completion& completion : end->Poll()) {
        absl::StrAppend(&trace, " | ", names.at(completion.queue_pair), " ", OpcodeName(completion.opcode), " ",
                        completion.id, " ", CompletionStatusName(completion.status));
      }
    }
    absl::StrAppend(&trace, "\n");
  }
  return trace;
}

TEST(Simulation, TheSameSeedIsTheSameRun) {
  const std::string trace = Trace(kSeed);
  EXPECT_GT(trace.size(), 1000u);
  EXPECT_EQ(Trace(kSeed), trace);
  EXPECT_NE(Trace(kSeed + 1), trace);
}

struct Reordering {
  int within = 0;  // a later request of a queue pair arrived before an earlier one of it
  int across = 0;  // ... before an earlier one of another
};

Reordering CountReordering(uint64_t seed, const SimConfig& config) {
  Simulation simulation(seed, config);
  Pair pair(simulation);
  const auto other_a = pair.a.NewQueuePair();
  const auto other_b = pair.b.NewQueuePair();
  EXPECT_TRUE(pair.status.ok() && Connect(*other_a, *other_b).ok());
  for (uint32_t i = 0; i < 40; ++i) {
    EXPECT_TRUE(PostReceive(i % 2 == 0 ? *pair.b.queue_pair : *other_b, Segment{}).ok());
    const Segment local = pair.a.Local(0, 8);
    SendRequest request = Request(Opcode::kWriteWithImmediate, {&local, 1}, pair.b.Remote(0));
    request.immediate = i;
    EXPECT_TRUE(Post(i % 2 == 0 ? *pair.a.queue_pair : *other_a, request).ok());
  }
  simulation.RunUntilIdle();
  const std::vector<Completion> arrived = pair.b.Poll();
  EXPECT_EQ(arrived.size(), 40u);
  Reordering count;
  for (size_t later = 1; later < arrived.size(); ++later) {
    for (size_t earlier = 0; earlier < later; ++earlier) {
      if (arrived[earlier].immediate < arrived[later].immediate) continue;
      ++(arrived[earlier].queue_pair == arrived[later].queue_pair ? count.within : count.across);
    }
  }
  return count;
}

TEST(Simulation, JitterReordersAcrossQueuePairsNeverWithinOne) {
  SimConfig ordered;
  ordered.reorder_across_queue_pairs = false;
  ordered.write_spread = absl::ZeroDuration();
  int across = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Reordering jittered = CountReordering(seed, SimConfig{});
    EXPECT_EQ(jittered.within, 0);
    across += jittered.across;
    EXPECT_EQ(CountReordering(seed, ordered).across, 0);
  }
  EXPECT_GT(across, 0) << "code that relies on an order across queue pairs would pass";
}

// Reads between two steps what a peer's program would see there.
TEST(Simulation, AWriteLandsPiecemealButItsLastWordLast) {
  int body_torn = 0;
  int tail_first_half = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Simulation simulation(seed);
    Pair pair(simulation);
    ASSERT_TRUE(pair.status.ok()) << pair.status;
    std::memset(pair.a.at(0), 'x', 256);
    const std::string whole(248, 'x');
    ASSERT_TRUE(Post(*pair.a.queue_pair, Opcode::kWrite, pair.a.Local(0, 256), pair.b.Remote(512)).ok());
    while (simulation.Step()) {
      const std::string body = pair.b.Get(512, 248);
      const bool canary = pair.b.GetWord(512 + 248) != 0;
      if (canary) {
        ASSERT_EQ(body, whole) << "the canary came before its message";
      }
      const bool torn = body != whole && body != std::string(248, '\0');
      body_torn += torn;
      tail_first_half += torn && body.back() == 'x';
    }
    EXPECT_EQ(pair.b.Get(512, 248), whole);
  }
  EXPECT_GT(body_torn, 0);
  EXPECT_GT(tail_first_half, 0) << "later bytes may come before earlier ones";
}

TEST(Simulation, SourcesAreReadLate) {
  Simulation simulation(kSeed);
  Pair pair(simulation);
  ASSERT_TRUE(pair.status.ok()) << pair.status;
  pair.a.Put(0, "old");
  ASSERT_TRUE(Post(*pair.a.queue_pair, Opcode::kWrite, pair.a.Local(0, 3), pair.b.Remote(0)).ok());
  pair.a.Put(0, "new");
  simulation.RunUntilIdle();
  EXPECT_EQ(pair.b.Get(0, 3), "new");
}

TEST(Simulation, InlineSourcesAreReadAtThePost) {
  Simulation simulation(kSeed);
  Pair pair(simulation);
  ASSERT_TRUE(pair.status.ok()) << pair.status;
  pair.a.Put(0, "old");
  ASSERT_TRUE(Post(*pair.a.queue_pair, Opcode::kWrite, {pair.a.at(0), 3, /*lkey=*/0}, pair.b.Remote(0)).ok());
  pair.a.Put(0, "new");
  simulation.RunUntilIdle();
  EXPECT_EQ(pair.b.Get(0, 3), "old");
  // Longer than the limit, or to be written into: only with a key.
  EXPECT_EQ(Post(*pair.a.queue_pair, Opcode::kWrite, {pair.a.at(0), 65, 0}, pair.b.Remote(0)).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Post(*pair.a.queue_pair, Opcode::kRead, {pair.a.at(0), 8, 0}, pair.b.Remote(0)).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Simulation, SegmentsMustLieInTheRegionOfTheirKey) {
  Simulation simulation(kSeed);
  Pair pair(simulation);
  ASSERT_TRUE(pair.status.ok()) << pair.status;
  const size_t size = pair.a.memory->bytes().size();
  const uint32_t key = pair.a.memory->lkey();
  for (const Segment& bad :
       {Segment{pair.a.at(size) - 7, 8, key}, Segment{pair.a.at(0) - 1, 8, key}, Segment{pair.a.at(0), size + 1, key},
        Segment{pair.a.at(0), 8, key + 1}, Segment{pair.a.at(0), 8, pair.b.memory->lkey()}}) {
    EXPECT_EQ(Post(*pair.a.queue_pair, Opcode::kWrite, bad, pair.b.Remote(0)).code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(PostReceive(*pair.a.queue_pair, bad).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(simulation.pending_events(), 0u);
}

TEST(Simulation, AllocationHasItsLimitAndGivesBack) {
  SimConfig config;
  config.max_allocated_bytes = 10000;
  Simulation simulation(kSeed, config);
  const auto device = simulation.CreateDevice("a");
  for (int i = 0; i < 10; ++i) {
    const auto region = device->Allocate(10000, kLocalOnly);
    ASSERT_TRUE(region.ok()) << region.status();
    EXPECT_EQ(device->Allocate(1, kLocalOnly).status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(simulation.CreateDevice("b")->Allocate(1, kLocalOnly).ok()) << "the limit is a device's own";
  }
}

TEST(Simulation, TellsOfReadsBeforeWhoAskedHears) {
  Simulation simulation(kSeed);
  Pair pair(simulation);
  ASSERT_TRUE(pair.status.ok()) << pair.status;
  std::vector<std::string> seen;
  simulation.OnReadServed("b", [&] {
    EXPECT_THAT(pair.a.Poll(), IsEmpty());
    seen.push_back(pair.b.Get(0, 5));
  });
  pair.a.Put(0, "hello");
  ASSERT_TRUE(Post(*pair.a.queue_pair, Opcode::kWrite, pair.a.Local(0, 5), pair.b.Remote(0), 1, false).ok());
  simulation.RunUntilIdle();
  ASSERT_TRUE(Post(*pair.b.queue_pair, Opcode::kRead, pair.b.Local(8, 1), pair.a.Remote(0)).ok());
  simulation.RunUntilIdle();
  EXPECT_THAT(seen, IsEmpty()) << "a WRITE, or another device's READ";
  ASSERT_TRUE(Post(*pair.a.queue_pair, Opcode::kRead, pair.a.Local(8, 1), pair.b.Remote(4)).ok());
  simulation.RunUntilIdle();
  EXPECT_EQ(seen, std::vector<std::string>{"hello"});
  EXPECT_EQ(pair.a.Poll().size(), 1u);
}

TEST(Simulation, DevicesOutliveIt) {
  auto simulation = std::make_unique<Simulation>(kSeed);
  Pair pair(*simulation);
  ASSERT_TRUE(pair.status.ok()) << pair.status;
  simulation.reset();
  EXPECT_TRUE(Post(*pair.a.queue_pair, Opcode::kWrite, pair.a.Local(0, 8), pair.b.Remote(0)).ok());
  EXPECT_THAT(pair.a.Poll(), IsEmpty());
}

}  // namespace
}  // namespace skein::fabric
