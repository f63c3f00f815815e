#include "core/wait/busy_set.h"

#include <utility>

#include "absl/algorithm/container.h"

namespace skein::wait {

void BusySet::Arm(const All& all) {
  for (const std::shared_ptr<Busy>& busy : all) {
    int times = 0;
    while (!busy->source().Arm() && ++times < kTimes) busy->source().Poll();
    if (times == kTimes) busy->Again();
  }
}

bool BusySet::Attend(const std::shared_ptr<Busy>& busy, int times) {
  Source& source = busy->source();
  source.Woke();
  for (; times > 0; --times) {
    const bool came = source.Poll();
    if ((came ? Add(busy) : IsSpunFor(*busy)) || source.Arm()) return true;
  }
  return false;
}

bool BusySet::Add(const std::shared_ptr<Busy>& busy) {
  if (!enabled_) return false;
  busy->used_.store(true, std::memory_order_relaxed);
  MutexLock lock(&mu_);
  if (!busy->busy_.load(std::memory_order_relaxed) && !busy->removed_) {
    busy->busy_.store(true, std::memory_order_relaxed);
    all_.push_back(busy);
    Changed();
  }
  return spinners_ > 0;
}

bool BusySet::IsSpunFor(const Busy& busy) {
  if (empty()) return false;
  MutexLock lock(&mu_);
  return spinners_ > 0 && busy.busy_.load(std::memory_order_relaxed);
}

void BusySet::Remove(Busy& busy) {
  MutexLock lock(&mu_);
  busy.removed_ = true;
  if (std::erase_if(all_, [&](const auto& each) { return each.get() == &busy; }) == 0) return;
  busy.busy_.store(false, std::memory_order_relaxed);
  Changed();
}

// Those that have not been used since the last time are not busy any more.
BusySet::All BusySet::CoolDown() {
  All all = all_;
  std::erase_if(all_, [](const std::shared_ptr<Busy>& busy) {
    if (busy->used_.exchange(false, std::memory_order_relaxed)) return false;
    busy->busy_.store(false, std::memory_order_relaxed);
    return true;
  });
  if (all_.size() != all.size()) Changed();
  return all;
}

BusySet::Poller::Poller(BusySet& set) : set_(set) {
  MutexLock lock(&set_.mu_);
  disarms_ = set_.spinners_++ == 0;
  version_ = set_.version_.load(std::memory_order_relaxed);
  polled_ = set_.all_;
}

void BusySet::Poller::Refresh() {
  if (set_.version_.load(std::memory_order_relaxed) == version_) return;
  All before = std::move(polled_);
  {
    MutexLock lock(&set_.mu_);
    version_ = set_.version_.load(std::memory_order_relaxed);
    polled_ = set_.all_;
  }
  std::erase_if(before, [&](const auto& busy) { return absl::c_linear_search(polled_, busy); });
  set_.Arm(before);
}

bool BusySet::Poller::Poll(bool thorough) {
  Refresh();
  if (std::exchange(disarms_, false)) {
    for (const std::shared_ptr<Busy>& busy : polled_) busy->source().Disarm();
  }
  bool any = false;
  for (const std::shared_ptr<Busy>& busy : polled_) {
    if (!thorough && !busy->source().Glance()) continue;
    const bool came = busy->source().Poll();
    // The watcher of its descriptor may sleep through that end, which this poll has acknowledged.
    if (thorough && busy->source().finished()) busy->Again();
    if (!came) continue;
    any = true;
    set_.Use(busy);
  }
  return any;
}

void BusySet::Poller::End() {
  Refresh();
  All to_arm;
  {
    MutexLock lock(&set_.mu_);
    if (--set_.spinners_ == 0 && set_.anybody_sleeps()) to_arm = set_.all_;
  }
  Arm(to_arm);
  polled_.clear();  // here, whatever its end takes
}

void BusySet::Poller::EndAsleep() {
  Refresh();
  All to_arm;
  {
    MutexLock lock(&set_.mu_);
    set_.sleepers_.fetch_add(1, std::memory_order_seq_cst);
    if (--set_.spinners_ == 0) to_arm = set_.CoolDown();
  }
  Arm(to_arm);
  polled_.clear();  // here, whatever its end takes
}

}  // namespace skein::wait
