#include "core/base/closer.h"

#include <sys/socket.h>

#include <chrono>
#include <utility>

#include "core/base/detached.h"

namespace skein {
namespace {

// What lies in a socket that has been shut down: its peer adds nothing.
void TakeOut(int fd) {
  char unheeded[256];
  while (recv(fd, unheeded, sizeof(unheeded), MSG_DONTWAIT) > 0) {
  }
}

}  // namespace

Closer& Closer::Get() {
  static auto* const closer = new Closer;
  return *closer;
}

void Closer::Close(UniqueFd fd) { Leave({std::move(fd), false}); }

void Closer::CloseSocket(UniqueFd fd) {
  shutdown(fd.get(), SHUT_RDWR);
  Leave({std::move(fd), true});
}

void Closer::Leave(Left left) {
  if (!left.fd.valid()) return;
  MutexLock lock(&mu_);
  waiting_.push_back(std::move(left));
  if (waiting_.size() > threads_ - closing_ && threads_ < kMostThreads) StartThread();
}

bool Closer::HasSpace() {
  MutexLock lock(&mu_);
  const auto some = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return waiting_.size() < kMostWaiting; };
  if (some()) return true;
  if (threads_ == closing_ && threads_ < kMostThreads) StartThread();  // there was none to be had, perhaps
  if (stuck_) return false;
  Lockable locked{mu_};
  stuck_ = !closed_.wait_for(locked, std::chrono::milliseconds(kPatienceMs), some);
  return !stuck_;
}

// It ends when nothing waits. Where there can be none, the next Close tries again.
void Closer::StartThread() {
  if (StartDetached("skein-closer", [this] { Run(); })) ++threads_;
}

void Closer::Run() {
  for (Left left = Next(); left.fd.valid(); left = Next()) {
    if (left.shut_down) TakeOut(left.fd.get());
    left.fd.Reset();
    Closed();
  }
}

// Invalid: nothing waits, and the thread that asked is counted no more.
Closer::Left Closer::Next() {
  MutexLock lock(&mu_);
  if (waiting_.empty()) {
    --threads_;
    return {};
  }
  ++closing_;
  Left next = std::move(waiting_.front());
  waiting_.pop_front();
  return next;
}

void Closer::Closed() {
  MutexLock lock(&mu_);
  --closing_;
  stuck_ = false;
  closed_.notify_all();
}

}  // namespace skein
