#include "core/trace/collector.h"

#include <pthread.h>

#include <cstddef>
#include <system_error>
#include <utility>

#include "core/base/signals_blocked.h"

namespace skein::trace {
namespace {

constexpr std::chrono::milliseconds kPause(50);
// While a thread makes more records in a pause than a quarter of its ring holds.
constexpr std::chrono::milliseconds kShortPause(5);

// A callback is the user's.
void Call(const Collector::Callback& callback, const Record& record) {
  try {
    callback(record);
  } catch (...) {  // NOLINT(bugprone-empty-catch): this thread is nobody's to end
  }
}

}  // namespace

bool Collector::Start() {
  std::unique_lock<std::mutex> lock(mu_);
  stopping_ = false;
  if (running_) return true;
  const SignalsBlocked blocked;
  try {
    std::thread([this] { Run(); }).detach();
    running_ = true;
  } catch (const std::system_error&) {
  }
  return running_;
}

uint64_t Collector::Ask() {
  asked_changed_.notify_one();
  return ++asked_;
}

void Collector::Stop() {
  std::unique_lock<std::mutex> lock(mu_);
  if (!running_) return;
  stopping_ = true;
  Ask();
}

void Collector::WaitUntilStopped() {
  std::unique_lock<std::mutex> lock(mu_);
  if (Inside()) return;
  const uint64_t mine = asked_;
  state_changed_.wait(lock, [&] { return !running_ || (!stopping_ && done_ >= mine); });
}

void Collector::Flush() {
  std::unique_lock<std::mutex> lock(mu_);
  if (!running_ || Inside()) return;
  const uint64_t mine = Ask();
  state_changed_.wait(lock, [&] { return !running_ || done_ >= mine; });
}

void Collector::SetCallback(Callback callback) {
  std::shared_ptr<const Callback> next;
  if (callback != nullptr) next = std::make_shared<const Callback>(std::move(callback));
  std::unique_lock<std::mutex> lock(mu_);
  callback_.swap(next);
  const uint64_t before = deliveries_;
  if (!Inside()) state_changed_.wait(lock, [&] { return !delivering_ || deliveries_ != before; });
  lock.unlock();  // before the former one goes, which is the user's, too
}

void Collector::Run() {
  pthread_setname_np(pthread_self(), "skein-trace");
  std::unique_lock<std::mutex> lock(mu_);
  thread_ = std::this_thread::get_id();
  for (;;) {
    const uint64_t asked = asked_;
    Deliver(lock);
    done_ = asked;
    state_changed_.notify_all();
    if (stopping_ && asked_ == done_) break;
    asked_changed_.wait_for(lock, pause_, [&] { return asked_ != done_; });
  }
  running_ = false;
  thread_ = {};  // a later thread may have the same
  state_changed_.notify_all();
}

void Collector::Deliver(std::unique_lock<std::mutex>& lock) {
  std::shared_ptr<const Callback> callback = callback_;
  delivering_ = true;
  lock.unlock();
  const size_t most = rings_.Drain([&](const Record& record) {
    aggregate_.Add(record);
    recording_.Add(record);
    if (callback != nullptr) Call(*callback, record);
  });
  callback.reset();  // without the lock: its end is the user's, too
  lock.lock();
  delivering_ = false;
  ++deliveries_;
  pause_ = most > RecordRing::kCapacity / 4 ? kShortPause : kPause;
}

}  // namespace skein::trace
