// Cores on simulated time: a piece of work takes its time, and then happens.
#ifndef SKEIN_BENCH_DURABLE_PROCESSOR_H_
#define SKEIN_BENCH_DURABLE_PROCESSOR_H_

#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "core/fabric/sim/simulation.h"

namespace skein::bench::durable {

class Core {
 public:
  explicit Core(fabric::Simulation& simulation) : simulation_(simulation) {}

  bool busy() const { return busy_; }
  // `work` takes so long, and has its effects at the end. Not while busy.
  void Run(absl::Duration cost, absl::AnyInvocable<void()> work) {
    busy_ = true;
    simulation_.Schedule(cost + std::exchange(owed_, absl::ZeroDuration()), [this, work = std::move(work)]() mutable {
      busy_ = false;
      work();
    });
  }
  // What turned out to cost more than was thought: on top of the next piece of work.
  void Owe(absl::Duration cost) { owed_ += cost; }

 private:
  fabric::Simulation& simulation_;
  bool busy_ = false;
  absl::Duration owed_;
};

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_PROCESSOR_H_
