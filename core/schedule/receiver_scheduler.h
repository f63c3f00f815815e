// Shares the receiver's active queue pairs among its senders (FLOCK 3.4.1), so that the NIC's cache holds what is in
// use. One per process; a sender is a peer process with a pool of queue pairs. More senders than may be active take
// turns (receiver_turns.cc).
#ifndef SKEIN_CORE_SCHEDULE_RECEIVER_SCHEDULER_H_
#define SKEIN_CORE_SCHEDULE_RECEIVER_SCHEDULER_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"

namespace skein::schedule {

inline constexpr uint32_t kMaxActiveQueuePairs = 256;  // MAX_AQP

class ReceiverScheduler {
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
  struct Answer {
    bool granted = false;            // if not, the queue pair is inactive from now on
    std::optional<Activation> next;  // whose turn has come instead: to be given C credits
  };

  explicit ReceiverScheduler(uint32_t max_active = kMaxActiveQueuePairs)
      : max_active_(std::max<uint32_t>(max_active, 1)) {}

  // A new sender gets the functioning senders' average, at the cost of theirs. `queue_pairs`: its pool's, 1 or more.
  Added Add(uint16_t queue_pairs);
  // What it had is shared by the next Redistribute.
  void Remove(Sender sender);

  // The sender asks for more credits and reports its median coalescing degree, any number. Not granted to senders and
  // queue pairs that are not there.
  Answer OnRenewal(Sender sender, uint16_t queue_pair, uint16_t degree);

  // The sender has closed this queue pair, which was its last and is not its first. Returns those to activate: it must
  // not be left with none that it may ask on.
  std::vector<Activation> OnClosed(Sender sender, uint16_t queue_pair);

  // Ends a scheduling interval, or several of which nobody had any use: new shares by what was reported. Returns the
  // queue pairs to activate by giving them C credits; the others that change hear no when they ask.
  std::vector<Activation> Redistribute(uint64_t intervals = 1);

  // Whether there are more senders than may be active: then intervals are how long a turn may take.
  bool in_turns() const { return senders_.size() > max_active_; }
  // Whether somebody waits for its turn: Redistribute must then be called, though nobody asks for anything.
  bool waited_for() const { return !waiting_.empty(); }

  // AQP_i. Their sum is at most MAX_AQP.
  uint16_t active(Sender sender) const;
  // Whether the sender has been told that it may use a queue pair, and not that it may not.
  bool open(Sender sender, uint16_t queue_pair) const;

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
    uint64_t since = 0;    // in turns: in which interval it has got its place, or asked on it last
    bool waiting = false;  // among waiting_
    std::vector<QueuePair> queue_pairs;
  };
  using Senders = absl::btree_map<Sender, State>;  // ordered: the same history gives the same decisions

  static uint64_t Utilisation(const State& state);
  static void Choose(State& state);
  uint64_t AverageWeight(bool with_fresh) const;
  void Share();
  std::vector<Activation> ActivateShares();

  // Turns.
  void BeginTurns();
  Answer AnswerInTurns(Sender sender, State& state, uint16_t queue_pair);
  bool MakePlace();
  void TakePlace(Sender sender, State& state, uint16_t queue_pair);
  void LosePlace(Sender sender, State& state);
  void Wait(Sender sender, State& state, uint16_t queue_pair);
  void StopWaiting(Sender sender, State& state);
  void CloseInTurns(Sender sender, State& state, bool had_place);
  Activation ActivateNext();

  const uint32_t max_active_;
  Sender next_sender_ = 1;
  Senders senders_;
  uint64_t interval_ = 0;                                // counts them
  absl::btree_set<std::pair<uint64_t, Sender>> places_;  // in turns: who is active, by State::since
  std::deque<Activation> waiting_;                       // who has no open queue pair: what its turn will open
};

}  // namespace skein::schedule

#endif  // SKEIN_CORE_SCHEDULE_RECEIVER_SCHEDULER_H_
