#include "bench/sim/thread_scheduler.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

#include "absl/container/btree_map.h"
#include "absl/numeric/int128.h"

namespace skein::bench {
namespace {

constexpr size_t kNone = SIZE_MAX;

using Order = absl::Span<const size_t>;  // indices of threads

absl::uint128 TotalBytes(absl::Span<const ThreadLoad> threads, Order order) {
  absl::uint128 total = 0;
  for (const size_t thread : order) total += threads[thread].bytes;
  return total;
}

// The loop of algorithm 1: fills one group after the other of `first` .. `first`+`groups`-1 up to its quota. The quota
// is what is left for each of the groups that are left; none is left empty.
void Fill(absl::Span<const ThreadLoad> threads, Order order, size_t first, size_t groups,
          std::vector<size_t>& group_of) {
  absl::uint128 left = TotalBytes(threads, order);
  absl::uint128 load = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    group_of[order[i]] = first;
    load += threads[order[i]].bytes;
    const bool full = load * groups >= left;
    const bool one_thread_each = order.size() - i - 1 < groups;
    if (groups == 1 || !(full || one_thread_each)) continue;
    left -= load;
    load = 0;
    --groups;
    ++first;
  }
}

// Groups the threads that sent. Small and large ones share none, unless there is only one.
std::vector<size_t> Group(absl::Span<const ThreadLoad> threads, Order order, size_t groups) {
  std::vector<size_t> group_of(threads.size(), kNone);
  groups = std::min(groups, order.size());
  const auto first_large = std::partition_point(
      order.begin(), order.end(), [&](size_t thread) { return threads[thread].median_bytes < kLargeBytes; });
  const Order small = order.first(static_cast<size_t>(first_large - order.begin()));
  const Order large = order.subspan(small.size());
  if (groups < 2 || small.empty() || large.empty()) {
    Fill(threads, order, 0, groups, group_of);
    return group_of;
  }
  // Each kind gets the groups its bytes deserve, to the nearest; but one at least, and no more than it has threads.
  const absl::uint128 total = TotalBytes(threads, order);
  const absl::uint128 deserved = total == 0 ? 0 : (TotalBytes(threads, small) * groups + total / 2) / total;
  const size_t least = std::max<size_t>(1, groups - std::min(groups, large.size()));
  const size_t most = std::min(groups - 1, small.size());
  const size_t small_groups = std::clamp(static_cast<size_t>(deserved), least, most);
  Fill(threads, small, 0, small_groups, group_of);
  Fill(threads, large, small_groups, groups - small_groups, group_of);
  return group_of;
}

// Each group gets a place in `active`: greedily, so that many threads stay where they are.
std::vector<size_t> PlaceGroups(absl::Span<const size_t> group_of, absl::Span<const size_t> now, size_t places) {
  absl::btree_map<std::pair<size_t, size_t>, size_t> staying;  // by group and place
  for (size_t i = 0; i < group_of.size(); ++i) {
    if (group_of[i] != kNone && now[i] != kNone) ++staying[{group_of[i], now[i]}];
  }
  std::vector<std::tuple<size_t, size_t, size_t>> wishes;
  for (const auto& [pair, threads] : staying) wishes.emplace_back(threads, pair.first, pair.second);
  std::stable_sort(wishes.begin(), wishes.end(),
                   [](const auto& a, const auto& b) { return std::get<0>(a) > std::get<0>(b); });
  std::vector<size_t> place_of(places, kNone);  // no more groups than places
  std::vector<bool> taken(places, false);
  for (const auto& [threads, group, place] : wishes) {
    if (place_of[group] != kNone || taken[place]) continue;
    place_of[group] = place;
    taken[place] = true;
  }
  size_t free = 0;
  for (size_t& place : place_of) {
    if (place != kNone) continue;
    while (taken[free]) ++free;
    place = free++;
  }
  return place_of;
}

}  // namespace

void RequestStats::Add(uint64_t bytes) {
  uint32_t& count = by_width_[std::min<size_t>(std::bit_width(bytes), by_width_.size() - 1)];
  if (count == UINT32_MAX) return;  // 4 billion are enough to know
  ++count;
  ++requests_;
  bytes_ += std::min(bytes, UINT64_MAX - bytes_);
}

uint64_t RequestStats::MedianBytes() const {
  uint64_t below = 0;
  for (size_t width = 0; width < by_width_.size(); ++width) {
    below += by_width_[width];
    if (below * 2 >= requests_ && below > 0) return width == 0 ? 0 : uint64_t{1} << (width - 1);
  }
  return 0;
}

size_t PlaceThread(absl::Span<const size_t> threads) {
  return static_cast<size_t>(std::min_element(threads.begin(), threads.end()) - threads.begin());
}

std::vector<uint16_t> AssignThreads(absl::Span<const ThreadLoad> threads, absl::Span<const uint16_t> active) {
  std::vector<uint16_t> assigned;
  for (const ThreadLoad& thread : threads) assigned.push_back(thread.queue_pair);
  if (active.empty()) return assigned;

  absl::btree_map<uint16_t, size_t> place_of_queue_pair;
  for (size_t place = 0; place < active.size(); ++place) place_of_queue_pair.emplace(active[place], place);
  std::vector<size_t> now(threads.size(), kNone);
  std::vector<size_t> order;
  for (size_t i = 0; i < threads.size(); ++i) {
    const auto place = place_of_queue_pair.find(threads[i].queue_pair);
    if (place != place_of_queue_pair.end()) now[i] = place->second;
    if (threads[i].requests > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(threads[a].median_bytes, threads[a].requests) <
           std::tie(threads[b].median_bytes, threads[b].requests);
  });
  const std::vector<size_t> group_of = Group(threads, order, active.size());
  const std::vector<size_t> place_of = PlaceGroups(group_of, now, active.size());

  std::vector<size_t> threads_at(active.size(), 0);
  for (size_t i = 0; i < threads.size(); ++i) {
    if (group_of[i] != kNone) now[i] = place_of[group_of[i]];
    if (now[i] != kNone) ++threads_at[now[i]];
  }
  for (size_t i = 0; i < threads.size(); ++i) {
    if (now[i] == kNone) {
      now[i] = PlaceThread(threads_at);
      ++threads_at[now[i]];
    }
    assigned[i] = active[now[i]];
  }
  return assigned;
}

}  // namespace skein::bench
