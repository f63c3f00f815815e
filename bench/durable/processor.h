// Cores on simulated time: a piece of work takes its time, and then happens.
#ifndef SKEIN_BENCH_DURABLE_PROCESSOR_H_
#define SKEIN_BENCH_DURABLE_PROCESSOR_H_

#include <cstdint>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "core/fabric/sim/simulation.h"

namespace skein::bench::durable {

// A thread that has its core to itself, or takes turns of `turn` with another one, which always computes.
struct CoreShare {
  absl::Duration turn;   // zero: no other thread
  absl::Duration phase;  // of the turns, at absl::UnixEpoch()

  // How long `cost` of work takes that begins now.
  absl::Duration TimeOf(absl::Duration cost, absl::Time now) const {
    if (turn == absl::ZeroDuration()) return cost;
    absl::Duration in_round;
    absl::IDivDuration(now - absl::UnixEpoch() + phase, 2 * turn, &in_round);
    const bool ours = in_round < turn;
    const absl::Duration before = ours ? absl::ZeroDuration() : 2 * turn - in_round;
    const absl::Duration first = ours ? turn - in_round : turn;
    if (cost <= first) return before + cost;
    absl::Duration rest;
    const int64_t whole = absl::IDivDuration(cost - first, turn, &rest);
    return before + cost + turn * (whole + (rest > absl::ZeroDuration() ? 1 : 0));
  }
};

class Core {
 public:
  explicit Core(fabric::Simulation& simulation, CoreShare share = {}) : simulation_(simulation), share_(share) {}

  bool busy() const { return busy_; }
  // `work` takes so long, and has its effects at the end. Not while busy.
  void Run(absl::Duration cost, absl::AnyInvocable<void()> work) {
    busy_ = true;
    const absl::Duration owed = std::exchange(owed_, absl::ZeroDuration());
    simulation_.Schedule(share_.TimeOf(cost + owed, simulation_.now()), [this, work = std::move(work)]() mutable {
      busy_ = false;
      work();
    });
  }
  // What turned out to cost more than was thought: on top of the next piece of work.
  void Owe(absl::Duration cost) { owed_ += cost; }

 private:
  fabric::Simulation& simulation_;
  const CoreShare share_;
  bool busy_ = false;
  absl::Duration owed_;
};

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_PROCESSOR_H_
