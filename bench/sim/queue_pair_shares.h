// FLOCK's receiver-side scheduling (thesis 3.4.1) of senders that have several queue pairs each: shares the receiver's
// active queue pairs among them by their use. In Skein a sender has one (core/schedule/turns.h); the model has what the
// thesis measured.
#ifndef SKEIN_BENCH_SIM_QUEUE_PAIR_SHARES_H_
#define SKEIN_BENCH_SIM_QUEUE_PAIR_SHARES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/container/btree_map.h"
#include "core/schedule/turns.h"

namespace skein::bench {

// No more senders than queue pairs that may be active.
class QueuePairShares {
 public:
  using Sender = uint64_t;  // never used twice
  struct Added {
    Sender sender = 0;
    uint16_t open = 0;  // it may use its queue pairs 0 .. open-1; one at least
  };
  struct Activation {
    Sender sender = 0;
    uint16_t queue_pair = 0;
  };

  explicit QueuePairShares(uint32_t max_active = schedule::kMaxActiveQueuePairs)
      : max_active_(std::max<uint32_t>(max_active, 1)) {}

  // A new sender gets the functioning senders' average, at the cost of theirs. `queue_pairs`: its pool's, 1 or more.
  Added Add(uint16_t queue_pairs);
  // The next Redistribute shares its queue pairs out.
  void Remove(Sender sender) { senders_.erase(sender); }

  // The sender asks for more credits and reports its median coalescing degree, any number. False: not granted, and the
  // queue pair is inactive from now on; so it is for senders and queue pairs that are not there.
  bool OnRenewal(Sender sender, uint16_t queue_pair, uint16_t degree);

  // Ends a scheduling interval: new shares by what was reported. Returns the queue pairs to activate by giving them C
  // credits; the others that change hear no when they ask.
  std::vector<Activation> Redistribute();

  // AQP_i. Their sum is at most MAX_AQP.
  uint16_t active(Sender sender) const;

 private:
  struct QueuePair {
    bool chosen = false;  // active by the last shares
    bool open = false;    // the sender has been told that it may; outlives `chosen` until it asks
    uint32_t utilisation = 0;
  };
  struct State {
    bool fresh = true;    // joined in this interval
    uint64_t weight = 0;  // U_i of the last whole interval, in units of 1/kScale; 0: dormant
    uint16_t active = 0;
    std::vector<QueuePair> queue_pairs;
  };
  using Senders = absl::btree_map<Sender, State>;  // ordered: the same history gives the same decisions

  static uint64_t Utilisation(const State& state);
  static void Choose(State& state);
  uint64_t AverageWeight(bool with_fresh) const;
  void Share();

  const uint32_t max_active_;
  Sender next_sender_ = 1;
  Senders senders_;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_QUEUE_PAIR_SHARES_H_
