// Which senders' queue pairs the receiver's NIC has to know just now (FLOCK 3.4.1): no more than its cache holds. Each
// sender has one queue pair. There are MAX_AQP *places*; a sender without a place has credits left, so that it may send
// and ask; or it waits.
//
//   has credits --> has a place    asks, nobody waits, and there is a place
//   has credits --> waits          asks, and there is none
//   has a place --> waits          asks, and others wait: the first of them gets the place
//   has a place --> has credits    has not asked for an interval, and another sender wants a place
//   waits       --> has a place    is the first, and there is a place: is activated
#ifndef SKEIN_CORE_SCHEDULE_TURNS_H_
#define SKEIN_CORE_SCHEDULE_TURNS_H_

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

class Turns {
 public:
  using Sender = uint64_t;  // never used twice
  struct Answer {
    bool granted = false;        // if not, the sender is inactive from now on
    std::optional<Sender> next;  // whose turn has come instead: to be given C credits
  };

  explicit Turns(uint32_t places = kMaxActiveQueuePairs) : most_(std::max<uint32_t>(places, 1)) {}

  // The sender begins with C credits, with a place or without.
  Sender Add();
  // The next Redistribute gives its place to a sender that waits.
  void Remove(Sender sender);
  // The sender asks for more credits. Not granted to one that is not there.
  Answer OnRenewal(Sender sender);
  // Ends an interval, or several of which nobody had any use. Returns the senders to activate by giving them C credits.
  std::vector<Sender> Redistribute(uint64_t intervals = 1);

  // Whether there are more senders than places.
  bool in_turns() const { return senders_.size() > most_; }
  // Whether a sender waits for its turn: Redistribute must then be called, though nobody asks for anything.
  bool waited_for() const { return !waiting_.empty(); }
  // Who has a place; who has been silent for longest comes first.
  std::vector<Sender> Active() const;
  // Whether the sender has been told last that it may send.
  bool open(Sender sender) const;

 private:
  struct State {
    bool open = true;
    bool has_place = false;
    uint64_t since = 0;  // the interval in which it got its place, or asked last
  };

  bool MakePlace();
  void TakePlace(Sender sender, State& state);
  void LosePlace(Sender sender, State& state);
  Sender ActivateNext();

  const uint32_t most_;
  Sender next_sender_ = 1;
  uint64_t interval_ = 0;  // counts them
  absl::btree_map<Sender, State> senders_;
  absl::btree_set<std::pair<uint64_t, Sender>> places_;  // of those who have one: State::since, and who it is
  std::deque<Sender> waiting_;                           // all that are not open
};

}  // namespace skein::schedule

#endif  // SKEIN_CORE_SCHEDULE_TURNS_H_
