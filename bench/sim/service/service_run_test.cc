#include "bench/sim/service/service_run.h"

#include "gtest/gtest.h"

namespace skein::bench {
namespace {

ReadRun SmallReads(Access access) {
  ReadRun run;
  run.access = access;
  run.connections = 12;
  run.sharers = 3;
  run.bytes = 64;
  run.warm_up = absl::Microseconds(200);
  run.measured = absl::Microseconds(500);
  return run;
}

MeshRun SmallMesh(Access access, bool mirror, absl::Duration measured = absl::Milliseconds(2)) {
  MeshRun run;
  run.access = access;
  run.hosts = 4;
  run.processes = 5;
  run.callers = 2;
  run.pause = absl::Microseconds(100);
  run.mirror = mirror;
  run.warm_up = absl::Milliseconds(1);
  run.measured = measured;
  return run;
}

void ExpectSame(const ServiceOutcome& a, const ServiceOutcome& b) {
  EXPECT_EQ(a.operations_per_second, b.operations_per_second);
  EXPECT_EQ(a.p50_us, b.p50_us);
  EXPECT_EQ(a.p99_us, b.p99_us);
  EXPECT_EQ(a.busy, b.busy);
  EXPECT_EQ(a.nic_misses, b.nic_misses);
}

TEST(ServiceRunTest, ASeedHasOneOutcome) {
  for (const Access access : {Access::kOwn, Access::kLocked, Access::kService}) {
    ReadRun run = SmallReads(access);
    const ServiceOutcome first = bench::Run(run, OfRaas());
    EXPECT_GT(first.operations_per_second, 1e5);
    ExpectSame(first, bench::Run(run, OfRaas()));
    run.seed = 2;
    EXPECT_NE(first.busy, bench::Run(run, OfRaas()).busy);
  }
  for (const Access access : {Access::kOwn, Access::kService}) {
    const MeshRun run = SmallMesh(access, false);
    ExpectSame(bench::Run(run, Calibrated()), bench::Run(run, Calibrated()));
  }
}

TEST(ServiceRunTest, CountsQueuePairs) {
  EXPECT_EQ(bench::Run(SmallReads(Access::kOwn), OfRaas()).queue_pairs, 12);
  EXPECT_EQ(bench::Run(SmallReads(Access::kLocked), OfRaas()).queue_pairs,
            6);  // of two a host three threads have one, one another
  EXPECT_EQ(bench::Run(SmallReads(Access::kService), OfRaas()).queue_pairs, 3);
  EXPECT_EQ(bench::Run(SmallMesh(Access::kOwn, true), Calibrated()).queue_pairs, 5 * 3 * 5);
  EXPECT_EQ(bench::Run(SmallMesh(Access::kService, true), Calibrated()).queue_pairs, 2 * 3);
}

TEST(ServiceRunTest, AnUnloadedCallTakesItsParts) {
  ReadRun run = SmallReads(Access::kOwn);
  run.connections = 1;
  run.spin = absl::InfiniteDuration();
  const Costs costs = OfRaas();
  const ServiceOutcome own = bench::Run(run, costs);
  // There and back, the doorbell, the entry, and what packets take in NICs and on wires.
  const absl::Duration least = 2 * costs.nic.latency + costs.cpu.doorbell + costs.cpu.dma_line;
  EXPECT_GT(own.p50_us, absl::ToDoubleMicroseconds(least));
  EXPECT_LT(own.p50_us, absl::ToDoubleMicroseconds(least) + 0.3);
  run.access = Access::kService;
  const ServiceOutcome service = bench::Run(run, costs);
  EXPECT_GT(service.p50_us, own.p50_us + absl::ToDoubleMicroseconds(costs.service.turn + costs.service.request));
}

TEST(ServiceRunTest, OneHostStandsForAllOfThem) {
  for (const Access access : {Access::kOwn, Access::kService}) {
    const ServiceOutcome one = bench::Run(SmallMesh(access, true, absl::Milliseconds(40)), Calibrated());
    const ServiceOutcome all =
        bench::Run(SmallMesh(access, false, absl::Milliseconds(10)), Calibrated());  // as many calls
    EXPECT_NEAR(one.operations_per_second / all.operations_per_second, 1, 0.05);
    EXPECT_NEAR(one.p50_us / all.p50_us, 1, 0.1);
    EXPECT_NEAR(one.busy / all.busy, 1, 0.1);
  }
}

}  // namespace
}  // namespace skein::bench
