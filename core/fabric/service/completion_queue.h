// What skeind says has completed, for one of this process's completion queues.
#ifndef SKEIN_CORE_FABRIC_SERVICE_COMPLETION_QUEUE_H_
#define SKEIN_CORE_FABRIC_SERVICE_COMPLETION_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/mapping.h"
#include "core/base/mutex.h"
#include "core/base/unique_fd.h"
#include "core/fabric/fabric.h"
#include "core/fabric/service/session.h"
#include "core/fabric/service/shared_queues.h"
#include "core/fabric/sleep_descriptor.h"

namespace skein::fabric::service {

class ServiceQueuePair;

// Lock order: mu_, then a queue pair's or the session's end_mu_.
//
// A skeind that has been stopped, or hangs, keeps its sockets open. So after a post the queue asks skeind whether it is
// there, and looks some time later, by a timer that wakes a sleeper: without an answer the session ends. With one it
// asks again if there was another post, or a completion is still to come; else it is silent until the next post. This
// host's skeind finds out whether the peer's delivers a message (core/service/trunk.h).
//
// asks_ is written under mu_, relaxed, and read by asks(), relaxed: a post reads it after it has held its queue pair's
// lock, and Ask takes that lock after it has written false. So Ask sees the post, or the post sees false.
class ServiceCompletionQueue final : public CompletionQueue {
 public:
  static absl::StatusOr<std::unique_ptr<ServiceCompletionQueue>> Create(std::shared_ptr<Session> session,
                                                                        uint32_t capacity);
  ~ServiceCompletionQueue() override;

  size_t Poll(absl::Span<Completion> out) override ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status Arm() override;
  bool Disarm() override;
  int fd() const override { return sleep_.fd(); }
  void Wake() override { sleep_.Wake(); }
  absl::Status Watch(int fd) override { return sleep_.Watch(fd); }
  void Forget(int fd) override { sleep_.Forget(fd); }
  void AckEvents() override;
  Woken Sleep(int also, int timeout_ms) override { return sleep_.Sleep(also, timeout_ms); }

  uint32_t number() const { return number_; }
  // From queue pairs. Detached, none of its completions is told any more.
  void Attach(uint32_t number, ServiceQueuePair* queue_pair) ABSL_LOCKS_EXCLUDED(mu_);
  // False: whoever has just posted calls BeginToAsk. So it does when skeind could not be woken for it.
  bool asks() const { return asks_.load(std::memory_order_relaxed); }
  void BeginToAsk() ABSL_LOCKS_EXCLUDED(mu_);
  void Detach(uint32_t number) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  ServiceCompletionQueue(std::shared_ptr<Session> session, Mapping memory, uint32_t capacity, uint32_t number,
                         UniqueFd waker, UniqueFd timer)
      : session_(std::move(session)),
        memory_(std::move(memory)),
        ring_(memory_.data(), capacity),
        number_(number),
        waker_(std::move(waker)),
        timer_(std::move(timer)) {}

  size_t TakeKept(absl::Span<Completion> out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  size_t TakeFromRing(absl::Span<Completion> out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  size_t TakeFlushed(absl::Span<Completion> out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Ask() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LookForAnswer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void JudgeSilence() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LookAgainIn(absl::Duration wait) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetTimer(absl::Duration wait) const;

  const std::shared_ptr<Session> session_;
  const Mapping memory_;
  const CompletionRing ring_;
  const uint32_t number_;
  const UniqueFd waker_;  // skeind sends a byte to it
  const UniqueFd timer_;
  SleepDescriptor sleep_;
  Mutex mu_;
  uint64_t consumed_ ABSL_GUARDED_BY(mu_) = 0;
  bool any_kept_ ABSL_GUARDED_BY(mu_) = false;  // some member may have messages that found no receive
  uint32_t empty_polls_ ABSL_GUARDED_BY(mu_) = 0;
  std::atomic<bool> asks_ = false;
  uint64_t question_ ABSL_GUARDED_BY(mu_) = 0;
  int unanswered_ ABSL_GUARDED_BY(mu_) = 0;  // looks that found no answer to it
  absl::Time look_at_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<uint32_t, ServiceQueuePair*> members_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::fabric::service

#endif  // SKEIN_CORE_FABRIC_SERVICE_COMPLETION_QUEUE_H_
