#include "core/schedule/turns.h"

namespace skein::schedule {

Turns::Sender Turns::Add() {
  const Sender sender = next_sender_++;
  State& state = senders_[sender];
  if (waiting_.empty() && MakePlace()) TakePlace(sender, state);
  return sender;
}

void Turns::Remove(Sender sender) {
  const auto found = senders_.find(sender);
  if (found == senders_.end()) return;
  if (found->second.has_place) LosePlace(sender, found->second);
  if (!found->second.open) std::erase(waiting_, sender);
  senders_.erase(found);
}

Turns::Answer Turns::OnRenewal(Sender sender) {
  const auto found = senders_.find(sender);
  if (found == senders_.end()) return {};
  State& state = found->second;
  const bool had_place = state.has_place;
  if (had_place && waiting_.empty() && state.since == interval_) return {true, std::nullopt};  // as it is
  if (had_place) LosePlace(sender, state);
  if (waiting_.empty() && MakePlace()) {
    TakePlace(sender, state);
    return {true, std::nullopt};
  }
  if (std::exchange(state.open, false)) waiting_.push_back(sender);
  return {false, had_place ? std::make_optional(ActivateNext()) : std::nullopt};
}

std::vector<Turns::Sender> Turns::Redistribute(uint64_t intervals) {
  interval_ += intervals;
  std::vector<Sender> activated;
  while (!waiting_.empty() && MakePlace()) activated.push_back(ActivateNext());
  return activated;
}

std::vector<Turns::Sender> Turns::Active() const {
  std::vector<Sender> active;
  for (const auto& [since, sender] : places_) active.push_back(sender);
  return active;
}

bool Turns::open(Sender sender) const {
  const auto found = senders_.find(sender);
  return found != senders_.end() && found->second.open;
}

// Whether there is a place for one more. The sender that has not asked for longest loses its own, after an interval: it
// may use up its credits.
bool Turns::MakePlace() {
  if (places_.size() < most_) return true;
  const auto [since, sender] = *places_.begin();
  if (interval_ - since < 2) return false;  // a whole interval, and a part of one
  LosePlace(sender, senders_[sender]);
  return true;
}

void Turns::TakePlace(Sender sender, State& state) {
  state.has_place = true;
  state.since = interval_;
  places_.emplace(interval_, sender);
}

void Turns::LosePlace(Sender sender, State& state) {
  state.has_place = false;
  places_.erase({state.since, sender});
}

Turns::Sender Turns::ActivateNext() {
  const Sender next = waiting_.front();
  waiting_.pop_front();
  State& state = senders_[next];
  state.open = true;
  TakePlace(next, state);
  return next;
}

}  // namespace skein::schedule
