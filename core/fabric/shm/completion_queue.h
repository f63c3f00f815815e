// Completions of the queue pairs that report here, and the descriptor to sleep on, which watches their sockets.
#ifndef SKEIN_CORE_FABRIC_SHM_COMPLETION_QUEUE_H_
#define SKEIN_CORE_FABRIC_SHM_COMPLETION_QUEUE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/fabric/fabric.h"
#include "core/fabric/sleep_descriptor.h"

namespace skein::fabric::shm {

class ShmQueuePair;

// Lock order: members_mu_, then the locks of a queue pair, then ready_mu_.
class ShmCompletionQueue final : public CompletionQueue {
 public:
  static absl::StatusOr<std::unique_ptr<ShmCompletionQueue>> Create();

  size_t Poll(absl::Span<Completion> out) override;
  absl::Status Arm(WakeFor what) override;
  bool Disarm() override;
  int fd() const override { return sleep_.fd(); }
  void Wake() override { sleep_.Wake(); }
  absl::Status Watch(int fd) override { return sleep_.Watch(fd); }
  void Forget(int fd) override { sleep_.Forget(fd); }
  Woken Sleep(int also, int timeout_ms) override { return sleep_.Sleep(also, timeout_ms); }
  void AckEvents() override { Acknowledge(/*all=*/false); }
  void AckAllEvents() override { Acknowledge(/*all=*/true); }

  // From queue pairs. A send's completion frees the send queue up to `sequence`; receives have 0.
  void Push(const Completion& completion, uint64_t sequence, bool solicited = false);
  // Makes fd() readable if somebody armed it: news came that its sleeper must not miss.
  void WakeIfArmed();
  void Attach(ShmQueuePair* queue_pair);
  // No completion names it, and no call into it is under way, when this returns. Only those of shared receives stay,
  // where `keep_receives`; returns how many these are.
  uint32_t Detach(ShmQueuePair* queue_pair, bool keep_receives);

 private:
  struct Ready {
    Completion completion;
    uint64_t sequence = 0;
  };

  ShmCompletionQueue() = default;
  void Acknowledge(bool all);
  void SignalIfArmed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(ready_mu_);

  SleepDescriptor sleep_;
  Mutex members_mu_;
  std::vector<ShmQueuePair*> members_ ABSL_GUARDED_BY(members_mu_);
  Mutex ready_mu_;
  std::deque<Ready> ready_ ABSL_GUARDED_BY(ready_mu_);
  std::optional<WakeFor> armed_ ABSL_GUARDED_BY(ready_mu_);
  bool polling_ ABSL_GUARDED_BY(ready_mu_) = false;  // Poll is on its way here: what is pushed needs no wake-up
};

}  // namespace skein::fabric::shm

#endif  // SKEIN_CORE_FABRIC_SHM_COMPLETION_QUEUE_H_
