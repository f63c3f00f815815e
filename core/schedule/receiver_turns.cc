// Turns: more senders than may be active. There are MAX_AQP places. A sender without a place has credits left on an
// open queue pair, so that it may send and ask; or it waits.
//
//   has credits --> has a place    asks, nobody waits, and there is a place
//   has credits --> waits          asks, there is none
//   has a place --> waits          asks, others wait: the first of them gets the place
//   has a place --> has credits    has not asked for an interval, and somebody wants a place
//   waits       --> has a place    is the first, and there is a place: is activated
#include "absl/algorithm/container.h"
#include "core/schedule/receiver_scheduler.h"

namespace skein::schedule {

// Of those that had shares each keeps a place, on the queue pair that is most used; the others that it has are open
// until they ask. Who still waits from earlier turns goes on waiting.
void ReceiverScheduler::BeginTurns() {
  places_.clear();
  for (auto& [sender, state] : senders_) {
    state.active = state.active > 0 && !state.waiting ? 1 : 0;
    state.since = interval_;
    Choose(state);
    if (state.active > 0) places_.emplace(interval_, sender);
  }
}

ReceiverScheduler::Answer ReceiverScheduler::AnswerInTurns(Sender sender, State& state, uint16_t queue_pair) {
  QueuePair& asking = state.queue_pairs[queue_pair];
  const bool has_place = asking.chosen;
  if (has_place) LosePlace(sender, state);
  asking.open = state.active == 0 && waiting_.empty() && MakePlace();
  if (asking.open) {
    TakePlace(sender, state, queue_pair);
    return {true, std::nullopt};
  }
  if (state.active == 0) Wait(sender, state, queue_pair);
  return {false, has_place ? std::make_optional(ActivateNext()) : std::nullopt};
}

// Whether there is a place for one more. The one that was not asked on for longest is taken away, after an interval:
// its sender may use up its credits.
bool ReceiverScheduler::MakePlace() {
  if (places_.size() < max_active_) return true;
  const auto [since, sender] = *places_.begin();
  if (interval_ - since < 2) return false;  // a whole interval, and a part of one
  LosePlace(sender, senders_[sender]);
  return true;
}

void ReceiverScheduler::TakePlace(Sender sender, State& state, uint16_t queue_pair) {
  state.active = 1;
  state.since = interval_;
  state.queue_pairs[queue_pair].chosen = true;
  places_.emplace(interval_, sender);
}

void ReceiverScheduler::LosePlace(Sender sender, State& state) {
  state.active = 0;
  for (QueuePair& queue_pair : state.queue_pairs) queue_pair.chosen = false;
  places_.erase({state.since, sender});
}

void ReceiverScheduler::Wait(Sender sender, State& state, uint16_t queue_pair) {
  if (state.waiting) return;
  state.waiting = true;
  waiting_.push_back({sender, queue_pair});
}

void ReceiverScheduler::StopWaiting(Sender sender, State& state) {
  if (!std::exchange(state.waiting, false)) return;
  std::erase_if(waiting_, [sender](const Activation& each) { return each.sender == sender; });
}

// Without a place, and without an open queue pair to ask on, it waits.
void ReceiverScheduler::CloseInTurns(Sender sender, State& state, bool had_place) {
  if (had_place) LosePlace(sender, state);
  const bool may_ask = absl::c_any_of(state.queue_pairs, [](const QueuePair& each) { return each.open; });
  if (!may_ask) Wait(sender, state, 0);
}

ReceiverScheduler::Activation ReceiverScheduler::ActivateNext() {
  const Activation next = waiting_.front();
  waiting_.pop_front();
  State& state = senders_[next.sender];
  state.waiting = false;
  state.queue_pairs[next.queue_pair].open = true;
  TakePlace(next.sender, state, next.queue_pair);
  return next;
}

}  // namespace skein::schedule
