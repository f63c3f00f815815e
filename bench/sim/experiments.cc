#include "bench/sim/experiments.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/sim/costs.h"
#include "bench/sim/index.h"
#include "bench/sim/scenario.h"
#include "bench/sim/scenario_points.h"
#include "bench/sim/transactions/experiments.h"
#include "bench/sim/ud/experiments.h"

namespace skein::bench {
namespace {

Scenario Combining(size_t threads, size_t outstanding = 8) {
  Scenario scenario;
  scenario.threads = threads;
  scenario.outstanding = outstanding;
  return scenario;
}
Scenario Dedicated(size_t threads, size_t outstanding = 8) {
  Scenario scenario = Combining(threads, outstanding);
  scenario.sharing = Sharing::kDedicated;
  scenario.threads_per_queue_pair = 1;
  return scenario;
}
Scenario Spinlock(size_t threads, size_t outstanding, size_t threads_per_queue_pair) {
  Scenario scenario = Combining(threads, outstanding);
  scenario.sharing = Sharing::kSpinlock;
  scenario.threads_per_queue_pair = threads_per_queue_pair;
  return scenario;
}

struct FlockPoint {
  std::string experiment;
  std::string series;
  size_t x = 0;
  Scenario scenario;
  size_t reads = 0;  // queue pairs that READ; 0: requests and responses

  absl::StatusOr<Outcome> Run() const {
    return reads > 0 ? RunReads(scenario, reads, Calibrated()) : bench::Run(scenario, Calibrated());
  }
};
using Points = std::vector<FlockPoint>;

// Figure 2.2 (a).
void Reads(bool quick, Points& points) {
  const std::vector<size_t> all = {22, 44, 88, 176, 352, 704, 1408, 2816, 5632};
  const std::vector<size_t> few = {22, 176, 704, 1408, 5632};
  for (const size_t queue_pairs : quick ? few : all) {
    Scenario scenario;
    scenario.hosts = 22;
    points.push_back({"reads", "READ", queue_pairs, scenario, queue_pairs});
  }
}

// Figure 4.4, and the same for fewer requests outstanding.
void QueuePairSharing(bool quick, Points& points) {
  const std::vector<size_t> all = {1, 2, 4, 8, 16, 24, 32, 40, 48};
  const std::vector<size_t> few = {8, 32, 48};
  for (const size_t outstanding : quick ? std::vector<size_t>{8} : std::vector<size_t>{1, 4, 8}) {
    const std::string experiment = absl::StrCat("sharing, ", outstanding, " outstanding");
    for (const size_t threads : quick ? few : all) {
      points.push_back({experiment, "FLOCK", threads, Combining(threads, outstanding)});
      points.push_back({experiment, "one each", threads, Dedicated(threads, outstanding)});
      if (threads <= 8) continue;
      points.push_back({experiment, "spinlock, 2", threads, Spinlock(threads, outstanding, 2)});
      points.push_back({experiment, "spinlock, 4", threads, Spinlock(threads, outstanding, 4)});
    }
  }
}

// Figure 4.5.
void Coalescing(Points& points) {
  for (const size_t outstanding : {1, 4, 8}) {
    Scenario scenario = Combining(32, outstanding);
    points.push_back({"coalescing", "on", outstanding, scenario});
    scenario.coalescing = false;
    points.push_back({"coalescing", "off", outstanding, scenario});
  }
}

// Figure 4.6. The paper's two threads a queue pair have more queue pairs than the scheduled ones; "in turn" has as
// many.
void ThreadScheduling(bool quick, Points& points) {
  const std::vector<size_t> all = {128, 256, 512, 1024, 2048, 4096, 8192};
  const std::vector<size_t> few = {512};
  for (const size_t bytes : quick ? few : all) {
    Scenario scenario = Combining(32);
    scenario.large_percent = 10;
    scenario.large_bytes = bytes;
    points.push_back({"large payloads", "scheduled", bytes, scenario});
    Scenario turn = scenario;
    turn.thread_scheduling = false;
    points.push_back({"large payloads", "in turn", bytes, turn});
    scenario.threads_per_queue_pair = 2;
    points.push_back({"large payloads", "two a queue pair", bytes, scenario});
  }
}

// Figure 4.7.
void Processes(bool quick, Points& points) {
  const std::vector<size_t> all = {2, 4, 8, 12, 16};
  const std::vector<size_t> few = {16};
  for (const size_t processes : quick ? few : all) {
    const auto add = [&](std::string series, Scenario scenario) {
      scenario.processes_per_host = processes;
      points.push_back({"processes", std::move(series), processes * scenario.hosts, scenario});
    };
    add("1 thread, 1 queue pair", Combining(1));
    Scenario shared = Combining(2);
    shared.threads_per_queue_pair = 2;
    add("2 threads, 1 queue pair", shared);
    Scenario separate = Combining(2);
    separate.threads_per_queue_pair = 1;
    add("2 threads, 2 queue pairs", separate);
    add("2 threads, 2 queue pairs, plain", Dedicated(2));
  }
}

// Two processes of Skein, where one thread at a time polls all that they have, need one queue pair for good, or as many
// as a link grows to when its threads contend: that is the question. Every tenth thread sends 512 bytes, where threads
// are placed by size to most effect. 92 processes with 16 queue pairs each have more than the NIC's cache holds.
void LinkPools(bool quick, Points& points) {
  const std::vector<size_t> all = {2, 8, 16, 32, 48};
  const std::vector<size_t> few = {8, 32};
  const auto add = [&](const std::string& experiment, size_t x, Scenario scenario) {
    scenario.one_poller = true;
    for (const size_t pool : quick ? std::vector<size_t>{1, 4} : std::vector<size_t>{1, 2, 4, 16}) {
      scenario.pool = pool;
      points.push_back({experiment, absl::StrCat(pool), x, scenario});
    }
  };
  for (const size_t threads : quick ? few : all) {
    for (const size_t hosts : {1, 4, 23}) {
      for (const size_t outstanding : {1, 8}) {
        Scenario scenario = Combining(threads, outstanding);
        scenario.hosts = hosts;
        add(absl::StrCat("link, ", hosts, " clients, ", outstanding, " outstanding"), threads, scenario);
      }
    }
    Scenario mixed = Combining(threads);
    mixed.large_percent = threads < 10 ? 50 : 10;
    mixed.large_bytes = 512;
    add("link, 23 clients, sizes mixed", threads, mixed);
    Scenario many = Combining(threads, 1);
    many.processes_per_host = 4;
    add("link, 92 clients, 1 outstanding", threads, many);
  }
}

// Beyond the paper: threads of 23 processes (in Skein: streams on 23 links), or processes of a thread each.
void Clients(bool quick, Points& points) {
  const std::vector<size_t> all = {4, 9, 17, 43, 87, 217, 435};
  const std::vector<size_t> few = {17, 435};
  for (const size_t per_host : quick ? few : all) {
    const auto add = [&](std::string series, Scenario scenario) {
      // A round trip through 80,000 outstanding requests takes milliseconds; the credits that each process begins with,
      // before all have been told to take turns, last for 30.
      const bool in_turns = scenario.processes_per_host > 1;
      scenario.warm_up = absl::Milliseconds(in_turns ? 80 : 8);
      scenario.measured = absl::Milliseconds(6);
      points.push_back({"clients", std::move(series), per_host * scenario.hosts, scenario});
    };
    add("FLOCK, threads", Combining(per_host));
    add("one each", Dedicated(per_host));
    Scenario processes = Combining(1);
    processes.processes_per_host = per_host;
    add("in turns, processes", processes);
  }
}

}  // namespace

std::vector<Point> FlockExperiments(uint64_t seed, bool quick) {
  Points points;
  Reads(quick, points);
  QueuePairSharing(quick, points);
  Coalescing(points);
  ThreadScheduling(quick, points);
  Processes(quick, points);
  LinkPools(quick, points);
  Clients(quick, points);
  std::vector<Point> all = PointsOf(std::move(points), seed, quick);
  for (Point& point : UdExperiments(seed, quick)) all.push_back(std::move(point));
  for (Point& point : IndexExperiments(seed, quick)) all.push_back(std::move(point));
  for (Point& point : TransactionExperiments(seed, quick)) all.push_back(std::move(point));
  return all;
}

}  // namespace skein::bench
