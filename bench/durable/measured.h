// The runs of a scenario share this: the time, the chance, the receiver's workers; and the figures.
#ifndef SKEIN_BENCH_DURABLE_MEASURED_H_
#define SKEIN_BENCH_DURABLE_MEASURED_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bench/durable/handlers.h"
#include "bench/durable/processor.h"
#include "bench/durable/scenario.h"
#include "core/fabric/sim/random.h"
#include "core/fabric/sim/simulation.h"

namespace skein::bench::durable {

// Of one request, as the receiver's cores go on with it.
struct ReceiverTime {
  absl::Duration taken;     // until its handler has it
  absl::Duration executed;  // and until its reply leaves
};
using ReceiverTimes = absl::flat_hash_map<uint64_t, ReceiverTime>;  // of one connection, by number

struct RequestTime {
  bool write = false;
  absl::Duration latency;
  absl::Duration sender;    // of the latency, spent on the sender's core
  absl::Duration receiver;  // of the latency, spent on the receiver's
};

class Measured {
 public:
  Measured(const Scenario& of, const Costs& all)
      : scenario(of),
        costs(all),
        simulation(of.seed, all.nic),
        random(of.seed),
        handlers(simulation, all.receiver_cores - of.senders) {}

  absl::Duration SenderTurn() const { return scenario.busy_sender ? costs.turn : absl::ZeroDuration(); }
  absl::Duration ReceiverTurn() const { return scenario.busy_receiver ? costs.turn : absl::ZeroDuration(); }
  CoreShare Share(absl::Duration turn) {
    if (turn == absl::ZeroDuration()) return {};
    return {.turn = turn, .phase = random.Below(2 * turn)};
  }

  // A request is over for its sender; of the first tenth nothing is counted.
  void CountOver(const RequestTime& request);
  void CountOperation(absl::Duration latency);
  void CountReply(absl::Duration latency);
  bool enough() const { return scenario.operations > 0 && over_ >= scenario.operations + scenario.operations / 10; }
  Outcome Summary();

  const Scenario& scenario;
  const Costs& costs;
  fabric::Simulation simulation;
  fabric::sim::Random random;
  Handlers handlers;
  absl::Status status;

 private:
  bool measuring() const { return over_ > scenario.operations / 10; }

  uint64_t over_ = 0;
  absl::Time started_ = absl::InfinitePast();
  absl::Duration sender_;
  absl::Duration receiver_;
  std::vector<double> all_;
  std::vector<double> writes_;
  std::vector<double> reads_;
  std::vector<double> replies_;
  std::vector<double> operations_;
};

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_MEASURED_H_
