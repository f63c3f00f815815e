#include "bench/sim/send_queue.h"

#include <algorithm>
#include <utility>

namespace skein::bench {

bool SendQueue::Scheduled() const { return cluster_.scenario.threads_per_queue_pair == 0; }

void SendQueue::Enter(const Request& request) {
  waiting_.push_back(request);
  if (led_) return;
  led_ = true;
  Lead();
}

void SendQueue::Lead() {
  const CpuCosts& cpu = cluster_.costs.cpu;
  starved_ = Scheduled() && !credits_.CanSend(schedule::Credits::Use::kData);
  if (starved_) return;
  if (cluster_.scenario.sharing == Sharing::kSpinlock) {
    std::swap(waiting_.front(), waiting_[cluster_.random.Below(waiting_.size())]);
  }
  batch_.assign(1, waiting_.front());
  freed_ = 1;  // but for the leader
  waiting_.pop_front();
  cluster_.events.After(TakeOver(batch_.front().thread) + cpu.item + cluster_.Copy(batch_.front().bytes),
                        [this] { Gather(); });
}

void SendQueue::Resume() {
  if (starved_) Lead();
}

// The lock or the queue costs this, and the queue pair's own state does too if another thread has posted last.
absl::Duration SendQueue::TakeOver(size_t thread) {
  const CpuCosts& cpu = cluster_.costs.cpu;
  if (cluster_.scenario.sharing == Sharing::kDedicated) return absl::ZeroDuration();
  const bool elsewhere = std::exchange(last_leader_, thread) != thread;
  return cpu.swap + (elsewhere ? 2 * cpu.shared_line : absl::ZeroDuration());
}

// As long as somebody comes while the others copy, the leader takes them in.
void SendQueue::Gather() {
  const CpuCosts& cpu = cluster_.costs.cpu;
  const bool combining = cluster_.scenario.sharing == Sharing::kCombining && cluster_.scenario.coalescing;
  // Those of the round before have copied, and may come again.
  for (; freed_ < batch_.size(); ++freed_) owner_.OnFree(batch_[freed_].thread);
  const size_t followers = combining ? std::min(waiting_.size(), cluster_.costs.max_batch - batch_.size()) : 0;
  if (followers == 0) {
    ++posted_;
    owner_.OnTaken(*this, batch_);
    cluster_.events.After(cpu.header + cpu.doorbell, [this] { Post(); });
    return;
  }
  absl::Duration copies;  // at the same time
  for (size_t i = 0; i < followers; ++i) {
    batch_.push_back(waiting_.front());
    waiting_.pop_front();
    copies = std::max(copies, cluster_.Copy(batch_.back().bytes));
  }
  // Each is told its place by a line, and tells by one that it is done.
  cluster_.events.After(cpu.item * followers + copies + 2 * cpu.shared_line, [this] { Gather(); });
}

void SendQueue::Post() {
  owner_.OnPosted(*this, batch_);
  const size_t leader = batch_.front().thread;
  led_ = !waiting_.empty();
  if (led_) cluster_.events.After(HandOver(), [this] { Lead(); });
  owner_.OnFree(leader);
}

// A leader tells the next one. A lock's line goes round among all who spin on it.
absl::Duration SendQueue::HandOver() const {
  const bool lock = cluster_.scenario.sharing == Sharing::kSpinlock;
  return cluster_.costs.cpu.shared_line * (lock ? waiting_.size() : 1);
}

}  // namespace skein::bench
