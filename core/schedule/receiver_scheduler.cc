#include "core/schedule/receiver_scheduler.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"

namespace skein::schedule {
namespace {

// Of weights, so that an average of small ones is not rounded away. A weight has at most 40 bits, the 17 of a divisor
// fit beside them.
constexpr uint64_t kScale = 256;

uint32_t SaturatingAdd(uint32_t sum, uint32_t more) { return more > UINT32_MAX - sum ? UINT32_MAX : sum + more; }

}  // namespace

// U_i, saturated like each U_ij.
uint64_t ReceiverScheduler::Utilisation(const State& state) {
  uint32_t sum = 0;
  for (const QueuePair& queue_pair : state.queue_pairs) sum = SaturatingAdd(sum, queue_pair.utilisation);
  return sum;
}

// Of the functioning senders; of one that has been used least if there are none.
uint64_t ReceiverScheduler::AverageWeight(bool with_fresh) const {
  uint64_t sum = 0;
  uint64_t functioning = 0;
  for (const auto& [sender, state] : senders_) {
    if (state.weight == 0 || (state.fresh && !with_fresh)) continue;
    sum += state.weight;
    ++functioning;
  }
  return functioning == 0 ? kScale : sum / functioning;
}

ReceiverScheduler::Added ReceiverScheduler::Add(uint16_t queue_pairs) {
  const uint64_t weight = AverageWeight(/*with_fresh=*/true);
  const Sender sender = next_sender_++;
  State& state = senders_[sender];
  state.weight = weight;
  state.queue_pairs.resize(std::max<uint16_t>(queue_pairs, 1));
  if (in_turns()) {
    if (senders_.size() == max_active_ + size_t{1}) BeginTurns();
    state.queue_pairs.front().open = true;
    if (waiting_.empty() && MakePlace()) TakePlace(sender, state, 0);
    return {sender, 1};
  }
  Share();
  for (QueuePair& queue_pair : state.queue_pairs) queue_pair.open = queue_pair.chosen;
  return {sender, state.active};
}

void ReceiverScheduler::Remove(Sender sender) {
  const auto found = senders_.find(sender);
  if (found == senders_.end()) return;
  places_.erase({found->second.since, sender});
  StopWaiting(sender, found->second);
  const bool were_turns = in_turns();
  senders_.erase(found);
  if (were_turns && !in_turns()) Share();
}

ReceiverScheduler::Answer ReceiverScheduler::OnRenewal(Sender sender, uint16_t queue_pair, uint16_t degree) {
  const auto found = senders_.find(sender);
  if (found == senders_.end() || queue_pair >= found->second.queue_pairs.size()) return {};
  if (in_turns()) return AnswerInTurns(sender, found->second, queue_pair);
  QueuePair& asking = found->second.queue_pairs[queue_pair];
  if (asking.open) asking.utilisation = SaturatingAdd(asking.utilisation, degree);
  asking.open = asking.chosen;
  if (asking.open) StopWaiting(sender, found->second);
  return {asking.open, std::nullopt};
}

std::vector<ReceiverScheduler::Activation> ReceiverScheduler::OnClosed(Sender sender, uint16_t queue_pair) {
  const auto found = senders_.find(sender);
  if (found == senders_.end() || queue_pair == 0 || queue_pair >= found->second.queue_pairs.size()) return {};
  State& state = found->second;
  bool chosen = false;
  for (size_t i = queue_pair; i < state.queue_pairs.size(); ++i) {
    chosen |= std::exchange(state.queue_pairs[i], {}).chosen;
  }
  const auto in_vain = [&](const Activation& each) { return each.sender == sender && each.queue_pair >= queue_pair; };
  if (absl::c_any_of(waiting_, in_vain)) StopWaiting(sender, state);
  std::vector<Activation> activations;
  if (in_turns()) {
    CloseInTurns(sender, state, chosen);
    return activations;
  }
  Choose(state);
  for (uint16_t i = 0; i < queue_pair; ++i) {
    QueuePair& left = state.queue_pairs[i];
    if (!left.chosen || left.open) continue;
    left.open = true;
    activations.push_back({sender, i});
  }
  if (!activations.empty()) StopWaiting(sender, state);
  return activations;
}

std::vector<ReceiverScheduler::Activation> ReceiverScheduler::Redistribute(uint64_t intervals) {
  interval_ += intervals;
  if (!in_turns()) return ActivateShares();
  std::vector<Activation> activations;
  while (!waiting_.empty() && MakePlace()) activations.push_back(ActivateNext());
  return activations;
}

std::vector<ReceiverScheduler::Activation> ReceiverScheduler::ActivateShares() {
  for (auto& [sender, state] : senders_) {
    if (!state.fresh) state.weight = Utilisation(state) * kScale;
  }
  // Who joined in the interval is not judged by a part of it.
  const uint64_t average = AverageWeight(/*with_fresh=*/false);
  for (auto& [sender, state] : senders_) {
    if (state.fresh) state.weight = average;
    state.fresh = false;
  }
  Share();
  waiting_.clear();
  std::vector<Activation> activations;
  for (auto& [sender, state] : senders_) {
    state.waiting = false;
    for (size_t i = 0; i < state.queue_pairs.size(); ++i) {
      QueuePair& queue_pair = state.queue_pairs[i];
      queue_pair.utilisation = 0;
      if (!queue_pair.chosen || queue_pair.open) continue;
      queue_pair.open = true;
      activations.push_back({sender, static_cast<uint16_t>(i)});
    }
  }
  return activations;
}

uint16_t ReceiverScheduler::active(Sender sender) const {
  const auto found = senders_.find(sender);
  return found == senders_.end() ? 0 : found->second.active;
}

bool ReceiverScheduler::open(Sender sender, uint16_t queue_pair) const {
  const auto found = senders_.find(sender);
  if (found == senders_.end() || queue_pair >= found->second.queue_pairs.size()) return false;
  return found->second.queue_pairs[queue_pair].open;
}

// Formula 3.1 in whole queue pairs, by Webster's divisors: one for everybody; then each to the functioning sender with
// the largest weight / (2 AQP_i + 1) that has one left to activate. Not in turns.
void ReceiverScheduler::Share() {
  using Candidate = std::pair<Sender, State*>;
  const auto wants_less = [](const Candidate& a, const Candidate& b) {
    const uint64_t left = a.second->weight * (2 * uint64_t{b.second->active} + 1);
    const uint64_t right = b.second->weight * (2 * uint64_t{a.second->active} + 1);
    return left != right ? left < right : a.first > b.first;  // equals: the older sender first
  };
  // From turns that are over: where they have asked, they hear of it.
  for (const auto& [sender, queue_pair] : waiting_) senders_[sender].queue_pairs[queue_pair].chosen = true;
  std::priority_queue<Candidate, std::vector<Candidate>, decltype(wants_less)> functioning(wants_less);
  const auto wants_more = [](const State& state) {
    return state.weight > 0 && state.active < state.queue_pairs.size();
  };
  for (auto& [sender, state] : senders_) {
    state.active = 1;
    if (wants_more(state)) functioning.emplace(sender, &state);
  }
  size_t left = max_active_ - senders_.size();
  while (left > 0 && !functioning.empty()) {
    const Candidate next = functioning.top();
    functioning.pop();
    ++next.second->active;
    --left;
    if (wants_more(*next.second)) functioning.push(next);
  }
  for (auto& [sender, state] : senders_) Choose(state);
}

// Which: those that are active stay, the most used ones first; then those that need no activation.
void ReceiverScheduler::Choose(State& state) {
  std::vector<QueuePair*> order;
  for (QueuePair& queue_pair : state.queue_pairs) order.push_back(&queue_pair);
  std::stable_sort(order.begin(), order.end(), [](const QueuePair* a, const QueuePair* b) {
    return std::tie(a->chosen, a->open, a->utilisation) > std::tie(b->chosen, b->open, b->utilisation);
  });
  for (size_t i = 0; i < order.size(); ++i) order[i]->chosen = i < state.active;
}

}  // namespace skein::schedule
