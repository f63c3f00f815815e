#include "bench/sim/queue_pair_shares.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

namespace skein::bench {
namespace {

// Of weights, so that an average of small ones is not rounded away. A weight has at most 40 bits, the 17 of a divisor
// fit beside them.
constexpr uint64_t kScale = 256;

uint32_t SaturatingAdd(uint32_t sum, uint32_t more) { return more > UINT32_MAX - sum ? UINT32_MAX : sum + more; }

}  // namespace

// U_i, saturated like each U_ij.
uint64_t QueuePairShares::Utilisation(const State& state) {
  uint32_t sum = 0;
  for (const QueuePair& queue_pair : state.queue_pairs) sum = SaturatingAdd(sum, queue_pair.utilisation);
  return sum;
}

// Of the functioning senders; of one that has been used least if there are none.
uint64_t QueuePairShares::AverageWeight(bool with_fresh) const {
  uint64_t sum = 0;
  uint64_t functioning = 0;
  for (const auto& [sender, state] : senders_) {
    if (state.weight == 0 || (state.fresh && !with_fresh)) continue;
    sum += state.weight;
    ++functioning;
  }
  return functioning == 0 ? kScale : sum / functioning;
}

QueuePairShares::Added QueuePairShares::Add(uint16_t queue_pairs) {
  const uint64_t weight = AverageWeight(/*with_fresh=*/true);
  const Sender sender = next_sender_++;
  State& state = senders_[sender];
  state.weight = weight;
  state.queue_pairs.resize(std::max<uint16_t>(queue_pairs, 1));
  Share();
  for (QueuePair& queue_pair : state.queue_pairs) queue_pair.open = queue_pair.chosen;
  return {sender, state.active};
}

bool QueuePairShares::OnRenewal(Sender sender, uint16_t queue_pair, uint16_t degree) {
  const auto found = senders_.find(sender);
  if (found == senders_.end() || queue_pair >= found->second.queue_pairs.size()) return false;
  QueuePair& asking = found->second.queue_pairs[queue_pair];
  if (asking.open) asking.utilisation = SaturatingAdd(asking.utilisation, degree);
  return asking.open = asking.chosen;
}

std::vector<QueuePairShares::Activation> QueuePairShares::Redistribute() {
  for (auto& [sender, state] : senders_) {
    if (!state.fresh) state.weight = Utilisation(state) * kScale;
  }
  // A part of an interval does not judge the sender that joined in it.
  const uint64_t average = AverageWeight(/*with_fresh=*/false);
  for (auto& [sender, state] : senders_) {
    if (state.fresh) state.weight = average;
    state.fresh = false;
  }
  Share();
  std::vector<Activation> activations;
  for (auto& [sender, state] : senders_) {
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

uint16_t QueuePairShares::active(Sender sender) const {
  const auto found = senders_.find(sender);
  return found == senders_.end() ? 0 : found->second.active;
}

// Formula 3.1 in whole queue pairs, by Webster's divisors: one for everybody; then each to the functioning sender with
// the largest weight / (2 AQP_i + 1) that has one left to activate.
void QueuePairShares::Share() {
  using Candidate = std::pair<Sender, State*>;
  const auto wants_less = [](const Candidate& a, const Candidate& b) {
    const uint64_t left = a.second->weight * (2 * uint64_t{b.second->active} + 1);
    const uint64_t right = b.second->weight * (2 * uint64_t{a.second->active} + 1);
    return left != right ? left < right : a.first > b.first;  // equals: the older sender first
  };
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

// Active ones stay, the most used ones first; then come those that need no activation.
void QueuePairShares::Choose(State& state) {
  std::vector<QueuePair*> order;
  for (QueuePair& queue_pair : state.queue_pairs) order.push_back(&queue_pair);
  std::stable_sort(order.begin(), order.end(), [](const QueuePair* a, const QueuePair* b) {
    return std::tie(a->chosen, a->open, a->utilisation) > std::tie(b->chosen, b->open, b->utilisation);
  });
  for (size_t i = 0; i < order.size(); ++i) order[i]->chosen = i < state.active;
}

}  // namespace skein::bench
