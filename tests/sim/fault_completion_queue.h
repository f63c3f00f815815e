// A completion queue that holds back what its queue pairs are to hold back.
#ifndef SKEIN_TESTS_CHAOS_FAULT_COMPLETION_QUEUE_H_
#define SKEIN_TESTS_CHAOS_FAULT_COMPLETION_QUEUE_H_

#include <deque>
#include <memory>

#include "core/fabric/fabric.h"

namespace skein::chaos {

class FaultDevice;
class FaultQueuePair;

class FaultCompletionQueue final : public fabric::CompletionQueue {
 public:
  FaultCompletionQueue(FaultDevice& device, std::unique_ptr<fabric::CompletionQueue> queue);
  ~FaultCompletionQueue() override;

  // In each queue pair's order; of several, those that hold nothing back overtake.
  size_t Poll(absl::Span<fabric::Completion> out) override;
  absl::Status Arm() override;
  int fd() const override { return queue_->fd(); }
  void Wake() override { queue_->Wake(); }
  absl::Status Watch(int fd) override { return queue_->Watch(fd); }
  void Forget(int fd) override { queue_->Forget(fd); }
  void AckEvents() override {
    armed_ = signaled_ = false;
    queue_->AckEvents();
  }

  // The queue pair is being destroyed.
  void Forget(FaultQueuePair* queue_pair);
  bool WouldWake();
  fabric::CompletionQueue* inner() const { return queue_.get(); }

 private:
  struct Entry {
    fabric::Completion completion;
    FaultQueuePair* queue_pair = nullptr;
    bool late = false;  // it was held back when it came
  };

  static bool IsHeld(const Entry& entry);
  void TakeIn();

  FaultDevice& device_;
  const std::unique_ptr<fabric::CompletionQueue> queue_;
  std::deque<Entry> entries_;
  bool armed_ = false;     // by Arm, and neither signaled nor acknowledged since
  bool signaled_ = false;  // by what came late
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_FAULT_COMPLETION_QUEUE_H_
