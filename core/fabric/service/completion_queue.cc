#include "core/fabric/service/completion_queue.h"

#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/deadline.h"
#include "core/base/errno_status.h"
#include "core/base/sealed_memory.h"
#include "core/fabric/service/queue_pair.h"

namespace skein::fabric::service {
namespace {

constexpr uint32_t kLookEvery = 128;
// Two looks, so that a process that was itself stopped gives skeind the time between them.
constexpr int kMostUnanswered = 2;

}  // namespace

absl::StatusOr<std::unique_ptr<ServiceCompletionQueue>> ServiceCompletionQueue::Create(std::shared_ptr<Session> session,
                                                                                       uint32_t capacity) {
  if (capacity == 0) return absl::InvalidArgumentError("a completion queue of no entries");
  if (capacity > kMostEntries) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a completion queue of ", capacity, " entries, where skeind has ", kMostEntries));
  }
  absl::StatusOr<SharedMemory> memory =
      CreateShared("skein-completions", CompletionBytes(capacity), /*peers_write=*/true);
  if (!memory.ok()) return memory.status();
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return ErrnoStatus(errno, "create a pair of sockets");
  }
  UniqueFd waker(ends[0]);
  const UniqueFd skeinds(ends[1]);
  UniqueFd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer.valid()) return ErrnoStatus(errno, "create a timer");
  Request request;
  request.operation = Operation::kCreateCompletionQueue;
  request.size = capacity;
  const absl::StatusOr<Reply> created = session->Ask(request, memory->memfd.get());
  if (!created.ok()) return created.status();
  std::unique_ptr<ServiceCompletionQueue> queue(new ServiceCompletionQueue(
      std::move(session), std::move(memory->mapping), capacity, created->number, std::move(waker), std::move(timer)));
  request.operation = Operation::kWakeBy;
  request.number = created->number;
  if (absl::Status told = queue->session_->Ask(request, skeinds.get()).status(); !told.ok()) return told;
  if (absl::Status opened = queue->sleep_.Open(); !opened.ok()) return opened;
  for (const int fd : {queue->waker_.get(), queue->timer_.get()}) {
    if (absl::Status watched = queue->sleep_.Watch(fd); !watched.ok()) return watched;
  }
  queue->session_->AddSleeper(&queue->sleep_);
  return queue;
}

ServiceCompletionQueue::~ServiceCompletionQueue() {
  session_->RemoveSleeper(&sleep_);
  session_->LetGo(Operation::kDropCompletionQueue, number_);
}

size_t ServiceCompletionQueue::Poll(absl::Span<Completion> out) {
  MutexLock lock(&mu_);
  size_t count = TakeKept(out);
  count += TakeFromRing(out.subspan(count));
  count += TakeFlushed(out.subspan(count));
  // A process that never sleeps finds out by this that skeind has gone.
  if (count == 0 && ++empty_polls_ % kLookEvery == 0) {
    session_->Look();
    LookForAnswer();
  }
  return count;
}

size_t ServiceCompletionQueue::TakeKept(absl::Span<Completion> out) {
  if (!any_kept_) return 0;
  any_kept_ = false;
  size_t count = 0;
  for (const auto& [number, queue_pair] : members_) any_kept_ |= !queue_pair->TakeKept(this, out, count);
  return count;
}

size_t ServiceCompletionQueue::TakeFromRing(absl::Span<Completion> out) {
  const uint64_t published = ring_.header().published.load(std::memory_order_acquire);
  size_t count = 0;
  uint64_t at = consumed_;
  for (; at != published && count < out.size(); ++at) {
    const CompletionEntry entry = ring_.at(at);
    const auto member = members_.find(entry.queue_pair);
    if (member == members_.end()) continue;  // destroyed since
    const ServiceQueuePair::Taken taken = member->second->Completed(entry, out[count]);
    any_kept_ |= taken == ServiceQueuePair::Taken::kKept;
    count += taken == ServiceQueuePair::Taken::kYes ? 1 : 0;
  }
  if (at != consumed_) ring_.header().consumed.store(consumed_ = at, std::memory_order_release);
  return count;
}

// Requests that have not completed when their queue pair is through never will: skeind adds nothing behind that.
size_t ServiceCompletionQueue::TakeFlushed(absl::Span<Completion> out) {
  size_t count = 0;
  for (const auto& [number, queue_pair] : members_) {
    if (count == out.size()) break;
    if (!queue_pair->through()) continue;
    if (consumed_ != ring_.header().published.load(std::memory_order_acquire)) break;
    count += queue_pair->Flush(this, out.subspan(count));
  }
  return count;
}

absl::Status ServiceCompletionQueue::Arm() {
  PutUp(ring_.header().sleeps);
  return absl::OkStatus();
}

bool ServiceCompletionQueue::Disarm() { return TakeDown(ring_.header().sleeps); }

void ServiceCompletionQueue::AckEvents() {
  std::array<char, 16> bytes;
  ssize_t received = 0;
  do {
    received = recv(waker_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  } while (received > 0);
  if (received == 0) session_->End("skeind has gone").IgnoreError();  // it has let go of its end
  sleep_.Acknowledge();
  MutexLock lock(&mu_);
  uint64_t times = 0;
  const bool rang = read(timer_.get(), &times, sizeof(times)) > 0;
  LookForAnswer();
  if (!rang) return;
  if (session_->unheard()) {
    SetTimer(kUntilWokenAgain);
  } else if (asks()) {
    SetTimer(std::max(look_at_ - SteadyNow(), kUntilWokenAgain));
  }
}

void ServiceCompletionQueue::BeginToAsk() {
  MutexLock lock(&mu_);
  if (!asks() && !session_->ended()) Ask();
  if (session_->unheard()) SetTimer(kUntilWokenAgain);
}

// False: there is nothing to ask for.
bool ServiceCompletionQueue::Ask() {
  asks_.store(false, std::memory_order_relaxed);
  bool any = false;
  for (const auto& [number, queue_pair] : members_) any |= queue_pair->IsToBeAskedFor(this);
  if (!any) return false;
  asks_.store(true, std::memory_order_relaxed);
  question_ = session_->Question();
  unanswered_ = 0;
  LookAgainIn(session_->silence() / kMostUnanswered);
  return true;
}

void ServiceCompletionQueue::LookForAnswer() {
  if (session_->unheard()) session_->WakeAgain();
  if (asks() && SteadyNow() >= look_at_) JudgeSilence();
  if (session_->unheard()) SetTimer(kUntilWokenAgain);
}

void ServiceCompletionQueue::JudgeSilence() {
  if (!session_->ended() && !session_->Answered(question_)) {
    if (++unanswered_ < kMostUnanswered) return LookAgainIn(session_->silence() / kMostUnanswered);
    session_->End("skeind does not answer: it has been stopped, or hangs").IgnoreError();
  }
  if (!session_->ended() && Ask()) return;
  asks_.store(false, std::memory_order_relaxed);
  LookAgainIn(absl::ZeroDuration());
}

// Zero: not at all.
void ServiceCompletionQueue::LookAgainIn(absl::Duration wait) {
  look_at_ = SteadyNow() + wait;
  SetTimer(wait);
}

void ServiceCompletionQueue::SetTimer(absl::Duration wait) const {
  itimerspec when = {};
  when.it_value = absl::ToTimespec(wait);
  timerfd_settime(timer_.get(), 0, &when, nullptr);  // which also makes it unreadable
}

void ServiceCompletionQueue::Attach(uint32_t number, ServiceQueuePair* queue_pair) {
  MutexLock lock(&mu_);
  members_[number] = queue_pair;
}

void ServiceCompletionQueue::Detach(uint32_t number) {
  MutexLock lock(&mu_);
  members_.erase(number);
}

}  // namespace skein::fabric::service
