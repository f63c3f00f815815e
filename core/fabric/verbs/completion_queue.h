// A device's completion queue, and the descriptor to sleep on, which watches its completion channel and the device's
// events.
#ifndef SKEIN_CORE_FABRIC_VERBS_COMPLETION_QUEUE_H_
#define SKEIN_CORE_FABRIC_VERBS_COMPLETION_QUEUE_H_

#include <cstdint>
#include <deque>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/mutex.h"
#include "core/fabric/fabric.h"
#include "core/fabric/sleep_descriptor.h"
#include "core/fabric/verbs/context.h"

namespace skein::fabric::verbs {

class VerbsQueuePair;

// What a work request's id says: whose it is, and which of its requests. Member numbers are never used again, so that
// what a destroyed queue pair has left in the device's queue belongs to nobody. Receives of a shared queue are nobody's
// before they are taken: kSharedMember, and who took one, the completion's queue pair number tells.
inline constexpr uint32_t kSharedMember = 0;
struct WorkId {
  uint32_t member = kSharedMember;  // 31 bits
  bool receive = false;
  uint32_t sequence = 0;

  uint64_t packed() const { return uint64_t{member} << 33 | uint64_t{receive} << 32 | sequence; }
  static WorkId Of(uint64_t packed) {
    return {static_cast<uint32_t>(packed >> 33), (packed >> 32 & 1) != 0, static_cast<uint32_t>(packed)};
  }
};

// Lock order: mu_, then the locks of a queue pair.
class VerbsCompletionQueue final : public CompletionQueue {
 public:
  static absl::StatusOr<std::unique_ptr<VerbsCompletionQueue>> Create(std::shared_ptr<Context> context,
                                                                      uint32_t capacity);
  ~VerbsCompletionQueue() override;

  size_t Poll(absl::Span<Completion> out) override;
  absl::Status Arm() override;
  int fd() const override { return sleep_.fd(); }
  void Wake() override { sleep_.Wake(); }
  absl::Status Watch(int fd) override { return sleep_.Watch(fd); }
  void Forget(int fd) override { sleep_.Forget(fd); }
  Woken Sleep(int also, int timeout_ms) override { return sleep_.Sleep(also, timeout_ms); }
  void AckEvents() override;
  void AckAllEvents() override;

  ibv_cq* get() const { return queue_; }
  // Takes what the device has completed to where Poll finds it. False: another thread has the queue just now. The
  // caller does not wait for that thread: a thread that looks for progress holds the context's lock, and a thread that
  // destroys a queue pair under this queue's lock may wait for an event, which another thread handles under that one.
  bool TryTakeIn() ABSL_LOCKS_EXCLUDED(mu_);
  // From queue pairs. Detached, none of its completions stays and no call into it is under way.
  uint32_t Attach(VerbsQueuePair* queue_pair);
  void Detach(uint32_t member);
  // Of one whose receives are shared and report here. Destroyed, it has left the device, and of its completions those
  // of the receives stay, without it.
  void AttachTaker(const ibv_qp* raw, VerbsQueuePair* queue_pair);
  void DestroyTaker(ibv_qp* raw);

 private:
  explicit VerbsCompletionQueue(std::shared_ptr<Context> context);
  absl::Status Prepare(uint32_t capacity);
  bool TakeEvent();
  size_t Take(absl::Span<Completion> out, bool& look);
  void TakeUpTo(size_t count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Translate(const ibv_wc& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<Context> context_;
  SleepDescriptor sleep_;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* queue_ = nullptr;

  Mutex mu_;
  absl::flat_hash_map<uint32_t, VerbsQueuePair*> members_ ABSL_GUARDED_BY(mu_);
  uint32_t last_member_ ABSL_GUARDED_BY(mu_) = kSharedMember;
  absl::flat_hash_map<uint32_t, VerbsQueuePair*> takers_ ABSL_GUARDED_BY(mu_);  // by the device's number
  std::deque<Completion> ready_ ABSL_GUARDED_BY(mu_);  // translated, but more than Poll was asked for
  uint32_t empty_polls_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_COMPLETION_QUEUE_H_
