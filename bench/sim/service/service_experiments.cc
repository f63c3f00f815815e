#include "bench/sim/service/service_experiments.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/sim/costs.h"
#include "bench/sim/service/memory.h"
#include "bench/sim/service/service_run.h"

namespace skein::bench {
namespace {

using Threads = Skeind::Threads;

// core/service.
constexpr Threads kOneThread = {};
// Each looks at one completion queue for all its trunks, and at sockets that have something; and it rings the doorbell
// once for all turns of a round.
constexpr Threads Lean(size_t threads) {
  return {.workers = threads, .one_queue = true, .one_doorbell = true, .epoll = true};
}
// RaaS (IV, V-D): workers, one poller with one completion queue, one that posts receives.
constexpr Threads OfThePaper(size_t workers) {
  return {.workers = workers, .poller = true, .refill = true, .one_queue = true, .epoll = true};
}

class Points {
 public:
  Points(uint64_t seed, bool quick) : seed_(seed), quick_(quick) {}

  bool quick() const { return quick_; }
  std::vector<size_t> Of(std::vector<size_t> all, std::vector<size_t> few) const {
    return quick_ ? std::move(few) : std::move(all);
  }
  template <typename AnyRun>
  void Add(std::string experiment, std::string series, size_t x, AnyRun run, const Costs& costs) {
    run.seed = seed_;
    if (quick_) run.measured /= 2;
    points_.push_back({std::move(experiment), std::move(series), x, [run, costs]() -> absl::StatusOr<std::string> {
                         const ServiceOutcome outcome = Run(run, costs);
                         const double gigabits = outcome.operations_per_second * static_cast<double>(run.bytes) * 8e-9;
                         return absl::StrFormat(
                             R"("mrps": %.4f, "gbps": %.3f, "p50_us": %.2f, "p99_us": %.2f, "nic_misses": %.3f, )"
                             R"("queue_pairs": %.0f, "processors": %.3f, "busy": %.3f, "skeind": %.3f, )"
                             R"("skeind_busy": %.3f)",
                             outcome.operations_per_second / 1e6, gigabits, outcome.p50_us, outcome.p99_us,
                             outcome.nic_misses, outcome.queue_pairs, outcome.processors, outcome.busy, outcome.skeind,
                             outcome.skeind_busy);
                       }});
  }
  void Add(std::string experiment, std::string series, size_t x, uint64_t bytes) {
    points_.push_back({std::move(experiment), std::move(series), x, [bytes]() -> absl::StatusOr<std::string> {
                         return absl::StrFormat(R"("megabytes": %.3f)", static_cast<double>(bytes) / 1e6);
                       }});
  }
  std::vector<Point> Take() { return std::move(points_); }

 private:
  const uint64_t seed_;
  const bool quick_;
  std::vector<Point> points_;
};

Costs WithMiss(Costs costs, size_t nanoseconds) {
  costs.nic.queue_pair_miss_cost = absl::Nanoseconds(nanoseconds);
  return costs;
}

ReadRun Reads(size_t connections, Access access, const Threads& threads = {}) {
  ReadRun run;
  run.connections = connections;
  run.access = access;
  run.skeind = threads;
  return run;
}

// Figure 6: one machine's connections READ 64 KiB from three others.
void Connections(Points& points) {
  for (const size_t x : points.Of({100, 200, 300, 400, 500, 600, 800, 1000}, {400, 1000})) {
    for (const size_t miss : points.Of({40, 200, 400}, {40, 400})) {
      points.Add("connections", absl::StrCat("own, ", miss, " ns a miss"), x, Reads(x, Access::kOwn),
                 WithMiss(OfRaas(), miss));
    }
    points.Add("connections", "skeind", x, Reads(x, Access::kService, kOneThread), OfRaas());
    points.Add("connections", "RaaS's threads", x, Reads(x, Access::kService, OfThePaper(3)), OfRaas());
  }
  // Nobody has published how many packets a queue pair sends in its turn.
  for (const size_t burst : points.Of({1, 2, 4, 16, 64}, {})) {
    for (const size_t miss : {200, 400, 800}) {
      Costs costs = WithMiss(OfRaas(), miss);
      costs.burst_bytes = burst * costs.nic.packet_bytes;
      points.Add("bursts", absl::StrCat("own, ", miss, " ns a miss"), burst, Reads(1000, Access::kOwn), costs);
    }
  }
}

// Figure 7, and figure 2: `sharers` threads of one host share a queue pair to another one.
void QueuePairSharing(Points& points) {
  const auto add = [&](const std::string& experiment, std::string series, size_t x, ReadRun run) {
    run.hosts = 1;
    run.spin = absl::InfiniteDuration();  // all poll for what they have asked
    run.warm_up = absl::Milliseconds(1);
    run.measured = absl::Milliseconds(run.bytes > 1024 ? 40 : 8);
    points.Add(experiment, std::move(series), x, run, OfRaas());
  };
  const auto set = [](ReadRun run, size_t outstanding, uint64_t bytes, size_t sharers = 1) {
    run.outstanding = outstanding;
    run.bytes = bytes;
    run.sharers = sharers;
    return run;
  };
  for (const auto& [name, outstanding, bytes] :
       {std::tuple<const char*, size_t, uint64_t>{"sharing, 1 outstanding", 1, 64},
        {"sharing, 8 outstanding", 8, 64},
        {"sharing, 64 KiB", 8, 64 << 10}}) {
    for (const size_t x : points.Of({6, 12, 18, 24}, {6, 24})) {
      add(name, "one each", x, set(Reads(x, Access::kOwn), outstanding, bytes));
      add(name, "lock, 3", x, set(Reads(x, Access::kLocked), outstanding, bytes, 3));
      add(name, "lock, 6", x, set(Reads(x, Access::kLocked), outstanding, bytes, 6));
      add(name, "skeind", x, set(Reads(x, Access::kService, kOneThread), outstanding, bytes));
      add(name, "RaaS's threads", x, set(Reads(x, Access::kService, OfThePaper(1)), outstanding, bytes));
    }
  }
  for (const size_t q : points.Of({1, 2, 3, 6, 9, 18}, {1, 3, 9})) {
    for (const size_t outstanding : {1, 8}) {
      add("lock", absl::StrCat(outstanding, " outstanding"), q, set(Reads(18, Access::kLocked), outstanding, 64, q));
    }
  }
}

// Figure 9: each application has a connection to each of three hosts, and reads 64 KiB a hundred times a second.
void Applications(Points& points) {
  for (const size_t x : points.Of({1, 2, 4, 8, 16, 32, 64}, {1, 8, 32})) {
    const auto add = [&](std::string series, ReadRun run, absl::Duration spin) {
      run.applications = x;
      run.pause = absl::Milliseconds(10);
      run.spin = spin;
      run.measured = absl::Milliseconds(400);
      points.Add("applications", std::move(series), x, run, OfRaas());
    };
    const size_t connections = 3 * x;
    const absl::Duration spin = OfRaas().service.spin;
    add("own, poll", Reads(connections, Access::kOwn), absl::InfiniteDuration());
    add("own, block", Reads(connections, Access::kOwn), spin);
    add("skeind", Reads(connections, Access::kService, kOneThread), spin);
    add("RaaS's threads", Reads(connections, Access::kService, OfThePaper(3)), spin);
    // Figure 8.
    points.Add("memory", "own", x, OwnBytes(connections));
    points.Add("memory", "skeind", x, ServiceBytes(x, connections, 3));
    points.Add("memory", "own, with rings", x, OwnBytes(connections) + RingBytes(connections));
    points.Add("memory", "skeind, with rings", x, ServiceBytes(x, connections, 3) + RingBytes(connections));
  }
}

MeshRun Mesh(Access access, const Threads& threads = {}) {
  MeshRun run;
  run.access = access;
  run.skeind = threads;
  return run;
}

// So that `kilo` thousand calls a second are offered a host, as long as answers come at once.
MeshRun Offered(MeshRun run, size_t kilo) {
  run.pause = absl::Seconds(static_cast<double>(run.processes * run.callers) / (1e3 * static_cast<double>(kilo)));
  run.warm_up = std::max(run.warm_up, run.pause);
  // Some 10,000 calls for the 99th percentile.
  run.measured = std::max(run.measured, absl::Milliseconds(10'000 / kilo));
  return run;
}

// 10,000 processes of 100 hosts.
void Meshes(Points& points) {
  const std::vector<std::pair<std::string, MeshRun>> ways = {
      {"own queue pairs", Mesh(Access::kOwn)},
      {"skeind", Mesh(Access::kService, kOneThread)},
      {"skeind, lean", Mesh(Access::kService, Lean(1))},
      {"RaaS's threads, 4 workers", Mesh(Access::kService, OfThePaper(4))},
      {"4 threads, lean", Mesh(Access::kService, Lean(4))},
  };
  for (const auto& [series, run] : ways) {
    for (const size_t x : points.Of({25, 50, 100, 200, 400, 800, 1600, 3200, 6400}, {50, 400, 6400})) {
      points.Add("mesh", series, x, Offered(run, x), Calibrated());
    }
    if (points.quick()) continue;
    for (const size_t x : {2, 4, 10, 30, 100, 300}) {
      MeshRun hosts = Offered(run, 200);
      hosts.hosts = x;
      points.Add("mesh, hosts", series, x, hosts, Calibrated());
    }
    for (const size_t x : {40, 100, 200, 400, 800})
      points.Add("mesh, misses", series, x, run, WithMiss(Calibrated(), x));
  }
  for (const size_t threads : points.Of({1, 2, 4, 8, 16}, {1, 4})) {
    points.Add("threads", "each with some trunks", threads, Mesh(Access::kService, {.workers = threads}), Calibrated());
    points.Add("threads", "the same, lean", threads, Mesh(Access::kService, Lean(threads)), Calibrated());
    points.Add("threads", "workers, a poller", threads, Mesh(Access::kService, OfThePaper(threads)), Calibrated());
  }
}

// The results hang on constants that are not known well: so much.
void Sensitivity(Points& points) {
  for (const size_t x : points.Of({1, 2, 3, 6}, {})) {
    Costs costs = Calibrated();
    for (absl::Duration* each : {&costs.service.turn, &costs.service.request, &costs.service.completion,
                                 &costs.service.tell, &costs.service.arrival}) {
      *each = *each * 3 / static_cast<int>(x);
    }
    points.Add("instructions", "skeind", x, Mesh(Access::kService, kOneThread), costs);
    points.Add("instructions", "4 threads, lean", x, Mesh(Access::kService, Lean(4)), costs);
  }
  // And what skeind could have cheaper: turns without memory from the heap, processes that need not be woken, messages
  // of which it need not tell.
  for (const size_t x : points.Of({100, 300, 880}, {})) {
    Costs costs = Calibrated();
    costs.service.turn = absl::Nanoseconds(x);
    points.Add("turns", "skeind, lean", x, Mesh(Access::kService, Lean(1)), costs);
    points.Add("turns", "4 threads, lean", x, Mesh(Access::kService, Lean(4)), costs);
  }
  for (const size_t x : points.Of({0, 300, 950, 2000}, {})) {
    Costs costs = Calibrated();
    costs.service.wake = absl::Nanoseconds(x);
    points.Add("wakes", "skeind, lean", x, Mesh(Access::kService, Lean(1)), costs);
    MeshRun seen = Mesh(Access::kService, Lean(1));
    seen.immediates = false;
    points.Add("wakes", "the same, bytes seen without it", x, seen, costs);
  }
}

// One host that stands for all, beside all of them.
void Mirrors(Points& points) {
  for (const size_t x : points.Of({100, 400, 800}, {400})) {
    for (const bool mirror : {true, false}) {
      for (const Access access : {Access::kOwn, Access::kService}) {
        MeshRun run = Mesh(access, kOneThread);
        run.hosts = 6;
        run.processes = 12;
        run.mirror = mirror;
        run = Offered(run, x);
        if (mirror) run.measured *= 6;  // as many calls
        points.Add("mirror",
                   absl::StrCat(access == Access::kOwn ? "own queue pairs, " : "skeind, ", mirror ? "mirror" : "all"),
                   x, run, Calibrated());
      }
    }
  }
}

}  // namespace

std::vector<Point> ServiceExperiments(uint64_t seed, bool quick) {
  Points points(seed, quick);
  Connections(points);
  QueuePairSharing(points);
  Applications(points);
  Meshes(points);
  Sensitivity(points);
  Mirrors(points);
  return points.Take();
}

}  // namespace skein::bench
