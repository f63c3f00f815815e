// The receiver's worker cores, and the order that objects ask for: a write has its object to itself, and nothing
// overtakes it.
#ifndef SKEIN_BENCH_DURABLE_HANDLERS_H_
#define SKEIN_BENCH_DURABLE_HANDLERS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "bench/durable/workload.h"
#include "core/fabric/sim/simulation.h"

namespace skein::bench::durable {

class Handlers {
 public:
  Handlers(fabric::Simulation& simulation, size_t cores) : simulation_(simulation), free_(cores) {}

  // `done` when it has been executed, which takes `cost` of a core.
  void Execute(const Operation& operation, absl::Duration cost, absl::AnyInvocable<void()> done) {
    waiting_.push_back({operation, cost, std::move(done)});
    Start();
  }

 private:
  struct Job {
    Operation operation;
    absl::Duration cost;
    absl::AnyInvocable<void()> done;
  };
  struct Use {
    int readers = 0;
    bool writer = false;
  };

  // The oldest first, but for those whose object is taken, or asked for by an older one that waits.
  void Start() {
    absl::flat_hash_map<uint32_t, bool> wanted;  // by who waits: whether to write
    for (auto job = waiting_.begin(); job != waiting_.end() && free_ > 0;) {
      const uint32_t object = job->operation.object;
      const bool writes = job->operation.is_write != 0;
      Use& use = uses_[object];
      const auto before = wanted.find(object);
      const bool blocked =
          use.writer || (writes && use.readers > 0) || (before != wanted.end() && (writes || before->second));
      if (blocked) {
        wanted[object] = wanted[object] || writes;
        ++job;
        continue;
      }
      use.writer = writes;
      if (!writes) ++use.readers;
      --free_;
      const absl::Duration cost = job->cost;
      simulation_.Schedule(cost, [this, object, writes, done = std::move(job->done)]() mutable {
        Leave(object, writes);
        done();
        Start();
      });
      job = waiting_.erase(job);
    }
  }
  void Leave(uint32_t object, bool writes) {
    ++free_;
    Use& use = uses_[object];
    if (writes) {
      use.writer = false;
    } else {
      --use.readers;
    }
    if (!use.writer && use.readers == 0) uses_.erase(object);
  }

  fabric::Simulation& simulation_;
  size_t free_;
  std::deque<Job> waiting_;
  absl::flat_hash_map<uint32_t, Use> uses_;
};

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_HANDLERS_H_
