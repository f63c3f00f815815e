// RaaS's experiments, and a mesh of many processes: runs and their outcomes.
#ifndef SKEIN_BENCH_SIM_SERVICE_SERVICE_RUN_H_
#define SKEIN_BENCH_SIM_SERVICE_SERVICE_RUN_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "bench/sim/cluster.h"
#include "bench/sim/costs.h"
#include "bench/sim/service/skeind.h"

namespace skein::bench {

enum class Access : uint8_t {
  kOwn,      // a queue pair a connection
  kLocked,   // several threads share one, and spin on its locks
  kService,  // skeind
};

// READs of one host's threads from others' memory, one connection a thread (RaaS, figures 6, 7 and 9).
struct ReadRun {
  Access access = Access::kOwn;
  size_t sharers = 1;  // kLocked: threads of a queue pair
  Skeind::Threads skeind;
  size_t applications = 1;
  size_t connections = 1;  // of all applications
  size_t hosts = 3;        // that are read from
  size_t outstanding = 1;
  uint64_t bytes = 64 << 10;
  absl::Duration pause;  // between an answer and the next READ; mean, exponential
  absl::Duration spin = absl::Microseconds(50);
  absl::Duration warm_up = absl::Milliseconds(40);  // 1,000 times 64 KiB take 14
  absl::Duration measured = absl::Milliseconds(80);
  uint64_t seed = 1;
};

// Calls between any two processes of different hosts. Each process has `callers` that call a process drawn by chance,
// wait, pause and call again.
struct MeshRun {
  Access access = Access::kOwn;  // kOwn or kService
  Skeind::Threads skeind;
  size_t hosts = 100;
  size_t processes = 100;  // of a host
  size_t callers = 8;
  absl::Duration pause;
  uint64_t bytes = 64;  // of a request, and of an answer
  // Requests and answers go as WRITE_WITH_IMM, which the receiving skeind handles. Else the process sees the bytes.
  bool immediates = true;
  // One host in full detail stands for all: its messages arrive where those of another like it would. See
  // service_mesh.cc.
  bool mirror = true;
  absl::Duration warm_up = absl::Milliseconds(20);
  absl::Duration measured = absl::Milliseconds(40);
  uint64_t seed = 1;
};

// Of a host: the one that reads, or the mean of the mesh's.
struct ServiceOutcome {
  double operations_per_second = 0;
  double p50_us = 0;
  double p99_us = 0;
  double nic_misses = 0;   // of its NIC's messages, the part that missed the cache
  double queue_pairs = 0;  // that it has
  double processors = 0;   // that its threads have, polling included
  double busy = 0;         // of them: without polling
  double skeind = 0;       // of `processors`: skeind's
  double skeind_busy = 0;  // of `busy`: skeind's
};

ServiceOutcome Run(const ReadRun& run, const Costs& costs);
ServiceOutcome Run(const MeshRun& run, const Costs& costs);

// A cluster for a run that has no Scenario of FLOCK's.
template <typename AnyRun>
Scenario TimesOf(const AnyRun& run) {
  Scenario scenario;
  scenario.warm_up = run.warm_up;
  scenario.measured = run.measured;
  scenario.seed = run.seed;
  return scenario;
}

// A process pays this to lay a request there for skeind: its header, the queue's and the page's lines, a bit.
absl::Duration HandOver(const CpuCosts& cpu);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_SERVICE_SERVICE_RUN_H_
