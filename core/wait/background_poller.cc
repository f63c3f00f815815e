#include "core/wait/background_poller.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "core/base/deadline.h"
#include "core/base/detached.h"
#include "core/base/mutex.h"
#include "core/base/unique_fd.h"
#include "core/wait/spin.h"
#include "core/wait/wakes.h"

namespace skein::wait {
namespace {

// After so long without a thread that attends it, a source is the background thread's.
constexpr int kUnattendedMs = 10;

// A thread that never sleeps has a processor for itself; this thread is beside those that do the work.
SpinPolicy Sleepy(SpinPolicy policy) {
  if (policy.mode == WaitMode::kPoll) policy.mode = WaitMode::kHybrid;
  return policy;
}

}  // namespace

struct BackgroundPoller::Shared {
  explicit Shared(const SpinPolicy& policy) : budget(Sleepy(policy)) {}

  void Start(const std::shared_ptr<Shared>& self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(changed_mu);
  // False: a source has come meanwhile.
  bool End() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Run();
  void WaitForTakers() const;
  void Wake() ABSL_LOCKS_EXCLUDED(changed_mu);
  // Takes in the newcomers. Gives the drained descriptor to sleep on: -1 when the process has none left. Only the
  // thread calls it.
  pollfd TakeIn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // Polls for a moment what somebody depends on this for. True: something came.
  bool SpinForDependents();
  bool PollDependents() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // What to sleep on, and for how long at most (poll(2)). False: nobody is left, and the thread ends.
  bool Look(std::vector<pollfd>& descriptors, int& timeout_ms);

  struct Cared {
    std::shared_ptr<Source> source;
    // Polled and not armed since: somebody else may sleep on its descriptor, whose wake-up that has acknowledged.
    bool owed = false;
    bool depended_on = false;
  };
  static void LookAt(Cared& cared, std::vector<pollfd>& descriptors, int& timeout_ms);

  // True before the sources are looked at for the last time before a sleep without end. A thread that attends a source
  // changes its attendance first and then reads this; the background thread the other way round: all sequentially
  // consistent, so one sees the other.
  std::atomic<bool> asleep = false;
  // Threads in TakeAll. While messages come, the background thread holds `mu` nearly all the time and locks it again at
  // once, so it lets these threads go first. Acquire and release order that wait alone: `mu` guards everything else.
  std::atomic<int> takers = 0;
  Mutex mu;
  std::vector<Cared> sources ABSL_GUARDED_BY(mu);
  SpinBudget budget;
  // The background thread polls nothing under this lock: Add waits for no poll, and an observer under `mu` may nudge.
  Mutex changed_mu ABSL_ACQUIRED_AFTER(mu);
  std::vector<std::shared_ptr<Source>> newcomers ABSL_GUARDED_BY(changed_mu);
  bool running ABSL_GUARDED_BY(changed_mu) = false;
  UniqueFd changed ABSL_GUARDED_BY(changed_mu);  // wakes the thread, and is there while it is
};

void BackgroundPoller::Shared::Start(const std::shared_ptr<Shared>& self) {
  running = StartDetached("skein-progress", [self] { self->Run(); });  // if it fails, the next Add tries again
}

bool BackgroundPoller::Shared::End() {
  MutexLock lock(&changed_mu);
  if (!newcomers.empty()) return false;
  changed.Reset();
  running = false;
  return true;
}

void BackgroundPoller::Shared::Wake() {
  MutexLock lock(&changed_mu);
  if (changed.valid()) eventfd_write(changed.get(), 1);
}

void BackgroundPoller::Shared::WaitForTakers() const {
  for (int waiting; (waiting = takers.load(std::memory_order_acquire)) > 0;) takers.wait(waiting);
}

void BackgroundPoller::Shared::Run() {
  std::vector<pollfd> descriptors;
  int timeout_ms = 0;
  for (Deadline look = Deadline::min();;) {
    WaitForTakers();
    const bool came = SpinForDependents();
    if (came && Clock::now() < look) continue;
    if (!Look(descriptors, timeout_ms)) return;
    look = Clock::now() + kLook;
    if (!came && timeout_ms != 0) poll(descriptors.data(), descriptors.size(), timeout_ms);
  }
}

bool BackgroundPoller::Shared::PollDependents() {
  bool any = false;
  for (Cared& cared : sources) {
    if (!cared.depended_on) continue;
    cared.owed = true;
    any |= cared.source->Poll();
  }
  return any;
}

bool BackgroundPoller::Shared::SpinForDependents() {
  Wakes wakes;  // made without the lock
  MutexLock lock(&mu);
  if (absl::c_none_of(sources, [](const Cared& cared) { return cared.depended_on; })) return false;
  const absl::Duration longest = BeginSpin(budget);
  if (longest == absl::ZeroDuration()) return false;
  // Others want the lock.
  Spin spin(budget, std::min(longest, absl::FromChrono(kLook)), Manner::kPolls);
  return spin.Until([&](bool) ABSL_NO_THREAD_SAFETY_ANALYSIS { return PollDependents() || wakes.any(); }) ==
         Spun::kFound;
}

pollfd BackgroundPoller::Shared::TakeIn() {
  MutexLock lock(&changed_mu);
  if (!changed.valid()) changed = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  eventfd_t ignored = 0;
  eventfd_read(changed.get(), &ignored);
  for (std::shared_ptr<Source>& source : newcomers) sources.push_back({std::move(source)});
  newcomers.clear();
  return {changed.get(), POLLIN, 0};
}

bool BackgroundPoller::Shared::Look(std::vector<pollfd>& descriptors, int& timeout_ms) {
  std::vector<std::shared_ptr<Source>> over;  // outlive the lock
  Wakes wakes;                                // made without the lock
  MutexLock lock(&mu);
  descriptors.assign({TakeIn()});
  asleep.store(true, std::memory_order_seq_cst);
  // Without a descriptor nobody can wake this thread.
  timeout_ms = descriptors.front().fd < 0 ? static_cast<int>(kUnwatched.count()) : -1;
  for (Cared& cared : sources) {
    LookAt(cared, descriptors, timeout_ms);
    if (cared.source->finished()) over.push_back(std::exchange(cared.source, nullptr));
  }
  std::erase_if(sources, [](const Cared& cared) { return cared.source == nullptr; });
  if (timeout_ms >= 0) asleep.store(false, std::memory_order_relaxed);
  return !sources.empty() || !End();
}

void BackgroundPoller::Shared::LookAt(Cared& cared, std::vector<pollfd>& descriptors, int& timeout_ms) {
  Source& source = *cared.source;
  const Attendance attendance = source.TakeAttendance();
  const bool depended_on = attendance == Attendance::kBackground;
  if (depended_on && !cared.depended_on) timeout_ms = 0;  // to spin first
  cared.depended_on = depended_on;
  const bool attended = attendance == Attendance::kAwake || attendance == Attendance::kAsleep;
  if (attended && !cared.owed) {
    if (attendance == Attendance::kAwake && timeout_ms < 0) timeout_ms = kUnattendedMs;
    return;
  }
  source.Poll();
  if (source.Retire()) return;
  cared.owed = !source.Arm();
  if (cared.owed) {
    timeout_ms = 0;  // by turns with the others
  } else {
    descriptors.push_back({source.fd(), POLLIN, 0});
  }
}

BackgroundPoller::BackgroundPoller(const SpinPolicy& policy) : shared_(std::make_shared<Shared>(policy)) {}
BackgroundPoller::~BackgroundPoller() { TakeAll(); }

void BackgroundPoller::Add(std::shared_ptr<Source> source) {
  MutexLock lock(&shared_->changed_mu);
  shared_->newcomers.push_back(std::move(source));
  if (!shared_->running) return shared_->Start(shared_);
  if (shared_->changed.valid()) eventfd_write(shared_->changed.get(), 1);
}

std::vector<std::shared_ptr<Source>> BackgroundPoller::TakeAll() {
  std::vector<std::shared_ptr<Source>> sources;
  shared_->takers.fetch_add(1, std::memory_order_acq_rel);
  {
    MutexLock lock(&shared_->mu);
    for (Shared::Cared& cared : shared_->sources) sources.push_back(std::move(cared.source));
    shared_->sources.clear();
    MutexLock newcomers_lock(&shared_->changed_mu);
    for (std::shared_ptr<Source>& source : std::exchange(shared_->newcomers, {})) sources.push_back(std::move(source));
  }
  shared_->takers.fetch_sub(1, std::memory_order_acq_rel);
  shared_->takers.notify_all();
  shared_->Wake();
  return sources;
}

void BackgroundPoller::Nudge() {
  if (!shared_->asleep.load(std::memory_order_seq_cst)) return;
  if (shared_->asleep.exchange(false, std::memory_order_relaxed)) shared_->Wake();
}

}  // namespace skein::wait
