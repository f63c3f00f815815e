#include "core/progress/caretaker.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "core/base/deadline.h"
#include "core/base/mutex.h"
#include "core/base/signals_blocked.h"
#include "core/base/unique_fd.h"
#include "core/progress/pace.h"
#include "core/progress/spin.h"

namespace skein::progress {
namespace {

// After so long without anybody who attends it, a source is the caretaker's.
constexpr int kUnattendedMs = 10;

// Whoever never sleeps has a processor for itself; this thread is beside those that do the work.
SpinPolicy Sleepy(SpinPolicy policy) {
  if (policy.mode == WaitMode::kPoll) policy.mode = WaitMode::kHybrid;
  return policy;
}

}  // namespace

struct Caretaker::Shared {
  explicit Shared(const SpinPolicy& policy) : budget(Sleepy(policy)) {}

  void Start(const std::shared_ptr<Shared>& self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void End() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Run();
  void Wake() ABSL_LOCKS_EXCLUDED(changed_mu);
  pollfd Woken() ABSL_LOCKS_EXCLUDED(changed_mu);  // drained, to sleep on; by the thread alone
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

  // True before the sources are looked at for the last time before a sleep without end. Who attends a source changes
  // that first and then reads this; the caretaker the other way round: all sequentially consistent, so one sees the
  // other.
  std::atomic<bool> asleep = false;
  Mutex mu;
  std::vector<Cared> sources ABSL_GUARDED_BY(mu);
  SpinBudget budget;
  bool running ABSL_GUARDED_BY(mu) = false;
  // Wakes the thread, and is there while it is. A lock of its own: who nudges may be an observer under `mu`.
  Mutex changed_mu ABSL_ACQUIRED_AFTER(mu);
  UniqueFd changed ABSL_GUARDED_BY(changed_mu);
};

void Caretaker::Shared::Start(const std::shared_ptr<Shared>& self) {
  MutexLock lock(&changed_mu);
  changed = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!changed.valid()) return;
  const SignalsBlocked blocked;
  try {
    std::thread([self] { self->Run(); }).detach();
    running = true;
  } catch (const std::system_error&) {
    changed.Reset();
  }
}

void Caretaker::Shared::End() {
  MutexLock lock(&changed_mu);
  changed.Reset();
  running = false;
}

void Caretaker::Shared::Wake() {
  MutexLock lock(&changed_mu);
  if (changed.valid()) eventfd_write(changed.get(), 1);
}

void Caretaker::Shared::Run() {
  pthread_setname_np(pthread_self(), "skein-caretaker");
  std::vector<pollfd> descriptors;
  int timeout_ms = 0;
  for (Deadline look = Deadline::min();;) {
    const bool came = SpinForDependents();
    if (came && Clock::now() < look) continue;
    if (!Look(descriptors, timeout_ms)) return;
    look = Clock::now() + kLook;
    if (!came && timeout_ms != 0) poll(descriptors.data(), descriptors.size(), timeout_ms);
  }
}

bool Caretaker::Shared::PollDependents() {
  bool any = false;
  for (Cared& cared : sources) {
    if (!cared.depended_on) continue;
    cared.owed = true;
    any |= cared.source->Poll();
  }
  return any;
}

bool Caretaker::Shared::SpinForDependents() {
  MutexLock lock(&mu);
  if (absl::c_none_of(sources, [](const Cared& cared) { return cared.depended_on; })) return false;
  const absl::Duration longest = BeginSpin(budget);
  if (longest == absl::ZeroDuration()) return false;
  // Others want the lock.
  Spin spin(std::min(longest, absl::FromChrono(kLook)), kYieldAfter);
  for (int turn = 1;; ++turn) {
    const bool came = PollDependents();
    if (!came && (turn % kSeldom != 0 || spin.Pass())) continue;
    budget.Ended(came && spin.Paid());
    return came;
  }
}

pollfd Caretaker::Shared::Woken() {
  MutexLock lock(&changed_mu);
  eventfd_t ignored = 0;
  eventfd_read(changed.get(), &ignored);
  return {changed.get(), POLLIN, 0};
}

bool Caretaker::Shared::Look(std::vector<pollfd>& descriptors, int& timeout_ms) {
  std::vector<std::shared_ptr<Source>> over;  // outlive the lock
  MutexLock lock(&mu);
  descriptors.assign({Woken()});
  asleep.store(true, std::memory_order_seq_cst);
  timeout_ms = -1;
  for (Cared& cared : sources) {
    LookAt(cared, descriptors, timeout_ms);
    if (cared.source->finished()) over.push_back(std::exchange(cared.source, nullptr));
  }
  std::erase_if(sources, [](const Cared& cared) { return cared.source == nullptr; });
  if (timeout_ms >= 0) asleep.store(false, std::memory_order_relaxed);
  if (!sources.empty()) return true;
  End();
  return false;
}

void Caretaker::Shared::LookAt(Cared& cared, std::vector<pollfd>& descriptors, int& timeout_ms) {
  Source& source = *cared.source;
  const Attendance attendance = source.TakeAttendance();
  const bool depended_on = attendance == Attendance::kCaretaker;
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

Caretaker::Caretaker(const SpinPolicy& policy) : shared_(std::make_shared<Shared>(policy)) {}
Caretaker::~Caretaker() { TakeAll(); }

void Caretaker::Add(std::shared_ptr<Source> source) {
  MutexLock lock(&shared_->mu);
  shared_->sources.push_back({std::move(source)});
  // Without a thread or a descriptor to be had, the next source tries again.
  if (shared_->running) {
    shared_->Wake();
  } else {
    shared_->Start(shared_);
  }
}

std::vector<std::shared_ptr<Source>> Caretaker::TakeAll() {
  std::vector<std::shared_ptr<Source>> sources;
  MutexLock lock(&shared_->mu);
  for (Shared::Cared& cared : shared_->sources) sources.push_back(std::move(cared.source));
  shared_->sources.clear();
  shared_->Wake();
  return sources;
}

void Caretaker::Nudge() {
  if (!shared_->asleep.load(std::memory_order_seq_cst)) return;
  if (shared_->asleep.exchange(false, std::memory_order_relaxed)) shared_->Wake();
}

}  // namespace skein::progress
