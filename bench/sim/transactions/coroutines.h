// A thread's coroutines: each begins a transaction, goes from step to step as answers come, and begins the next one.
#ifndef SKEIN_BENCH_SIM_TRANSACTIONS_COROUTINES_H_
#define SKEIN_BENCH_SIM_TRANSACTIONS_COROUTINES_H_

#include <cstddef>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "bench/sim/cluster.h"
#include "bench/sim/transactions/shapes.h"

namespace skein::bench {

class Coroutines {
 public:
  // `send` is called for each request; its answer is told by OnAnswer.
  using Send = absl::AnyInvocable<void(size_t coroutine, const Ask& ask)>;

  Coroutines(Cluster& cluster, Mix mix, const Protocol& protocol, Send send)
      : cluster_(cluster), mix_(mix), protocol_(protocol), send_(std::move(send)), all_(cluster.scenario.outstanding) {}

  void Start() {
    for (size_t i = 0; i < all_.size(); ++i) Begin(i, cluster_.now());
  }
  // At `now`, which may be later than the cluster's.
  void OnAnswer(size_t coroutine, absl::Time now) {
    Coroutine& one = all_[coroutine];
    if (--one.awaited > 0) return;
    if (++one.step < one.shape.size()) return SendStep(coroutine);
    cluster_.events.At(now, [this, begun = one.begun] { cluster_.CountResponse(begun); });
    Begin(coroutine, now);
  }

 private:
  struct Coroutine {
    Shape shape;
    size_t step = 0;
    size_t awaited = 0;  // answers
    absl::Time begun;
  };

  void Begin(size_t coroutine, absl::Time now) {
    all_[coroutine] = {Draw(mix_, protocol_, cluster_.costs.cpu.handler, cluster_.random), 0, 0, now};
    SendStep(coroutine);
  }
  void SendStep(size_t coroutine) {
    Coroutine& one = all_[coroutine];
    one.awaited = one.shape[one.step].size();
    for (const Ask& ask : one.shape[one.step]) send_(coroutine, ask);
  }

  Cluster& cluster_;
  const Mix mix_;
  const Protocol protocol_;
  Send send_;
  std::vector<Coroutine> all_;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_TRANSACTIONS_COROUTINES_H_
