#include "core/progress/contention.h"

#include <algorithm>

namespace skein::progress {
namespace {

constexpr Clock::rep kFirst = Clock::duration(Contention::kFirstRest).count();
constexpr Clock::rep kLongest = Clock::duration(Contention::kLongestRest).count();

}  // namespace

bool Contention::MaySpin(Deadline now) {
  if (free_.load(std::memory_order_relaxed)) return true;
  if (resting(now)) return false;
  Clock::rep probe = probe_until_.load(std::memory_order_relaxed);
  return ToRep(now) >= probe &&
         probe_until_.compare_exchange_strong(probe, ToRep(now + kProbe), std::memory_order_relaxed);
}

void Contention::Away(Clock::duration time, Deadline now, int turns) {
  if (time < kLongAbsence + kTurn * turns) return;
  if (resting(now)) return;  // many spinners tell of the same absence
  const Clock::rep since = ToRep(now) - rest_until_.load(std::memory_order_relaxed);
  const Clock::rep grown = rest_.load(std::memory_order_relaxed) * kGrowth;
  const Clock::rep rest = std::clamp(grown - since, kFirst, kLongest);
  rest_.store(rest, std::memory_order_relaxed);
  yields_.store(0, std::memory_order_relaxed);
  probe_until_.store(0, std::memory_order_relaxed);
  free_.store(false, std::memory_order_relaxed);
  rest_until_.store(ToRep(now) + rest, std::memory_order_relaxed);
}

void Contention::CountYield() {
  if (yields_.fetch_add(1, std::memory_order_relaxed) + 1 >= kEnough) free_.store(true, std::memory_order_relaxed);
}

void Contention::SpinEnded(Deadline now) {
  if (free_.load(std::memory_order_relaxed) || resting(now)) return;
  probe_until_.store(0, std::memory_order_relaxed);
}

}  // namespace skein::progress
