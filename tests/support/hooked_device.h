// A device that calls a test before it does what another device does: the test looks at that moment, or stops it.
#ifndef SKEIN_TESTS_SUPPORT_HOOKED_DEVICE_H_
#define SKEIN_TESTS_SUPPORT_HOOKED_DEVICE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/mutex.h"
#include "tests/support/forwarding_device.h"

namespace skein::fabric {

// The thread that uses the device calls them.
struct Hooks {
  std::function<void()> connecting = [] {};  // Accept and Complete
  std::function<void(absl::Span<const SendRequest>)> posting = [](absl::Span<const SendRequest>) {};  // PostSend
  std::function<void()> arming = [] {};      // a completion queue's
  std::function<void()> looking = [] {};     // at a queue pair's state
  std::function<void()> refreshing = [] {};  // RefreshState
  // A completion queue's descriptor; whether it gives completions, heeds Wake, and agrees to Watch.
  std::function<int(int fd)> fd = [](int fd) { return fd; };
  std::function<bool()> completes = [] { return true; };  // false: nothing for now
  bool wakes = true;
  bool watches = true;
  std::function<void(DeviceCapabilities&)> capabilities = [](DeviceCapabilities&) {};
};

class HookedDevice final : public ForwardingDevice {
 public:
  HookedDevice(std::shared_ptr<Device> device, Hooks hooks)
      : ForwardingDevice(std::move(device)), hooks_(std::make_shared<const Hooks>(std::move(hooks))) {}

  DeviceCapabilities capabilities() const override {
    DeviceCapabilities capabilities = ForwardingDevice::capabilities();
    hooks_->capabilities(capabilities);
    return capabilities;
  }
  absl::StatusOr<std::unique_ptr<CompletionQueue>> CreateCompletionQueue(uint32_t capacity) override {
    auto made = ForwardingDevice::CreateCompletionQueue(capacity);
    if (!made.ok()) return made;
    return std::make_unique<Queue>(hooks_, *std::move(made));
  }
  absl::StatusOr<std::unique_ptr<QueuePair>> CreateQueuePair(const QueuePairOptions& options) override {
    auto* const sends = static_cast<Queue*>(options.send_queue);
    auto* const receives = static_cast<Queue*>(options.receive_queue);
    QueuePairOptions inner = options;
    inner.send_queue = sends->inner();
    inner.receive_queue = receives->inner();
    auto made = ForwardingDevice::CreateQueuePair(inner);
    if (!made.ok()) return made;
    return std::make_unique<Pair>(hooks_, *std::move(made), *sends, *receives);
  }

 private:
  class Queue final : public CompletionQueue {
   public:
    Queue(std::shared_ptr<const Hooks> hooks, std::unique_ptr<CompletionQueue> queue)
        : hooks_(std::move(hooks)), queue_(std::move(queue)) {}
    size_t Poll(absl::Span<Completion> out) override {
      if (!hooks_->completes()) return 0;
      const size_t count = queue_->Poll(out);
      MutexLock lock(&mu_);
      for (Completion& completion : out.subspan(0, count)) {
        const auto pair = pairs_.find(completion.queue_pair);
        completion.queue_pair = pair == pairs_.end() ? nullptr : pair->second;
      }
      return count;
    }
    absl::Status Arm() override {
      hooks_->arming();
      return queue_->Arm();
    }
    bool Disarm() override { return queue_->Disarm(); }
    int fd() const override { return hooks_->fd(queue_->fd()); }
    void Wake() override {
      if (hooks_->wakes) queue_->Wake();
    }
    absl::Status Watch(int fd) override {
      return hooks_->watches ? queue_->Watch(fd) : absl::ResourceExhaustedError("refused by the test");
    }
    void Forget(int fd) override { queue_->Forget(fd); }
    void AckEvents() override { queue_->AckEvents(); }
    void AckAllEvents() override { queue_->AckAllEvents(); }

    CompletionQueue* inner() const { return queue_.get(); }
    void Know(QueuePair* inner, QueuePair* outer) {
      MutexLock lock(&mu_);
      pairs_[inner] = outer;
    }
    void Forget(QueuePair* inner) {
      MutexLock lock(&mu_);
      pairs_.erase(inner);
    }

   private:
    const std::shared_ptr<const Hooks> hooks_;
    const std::unique_ptr<CompletionQueue> queue_;
    Mutex mu_;
    absl::flat_hash_map<QueuePair*, QueuePair*> pairs_ ABSL_GUARDED_BY(mu_);
  };

  class Pair final : public QueuePair {
   public:
    Pair(std::shared_ptr<const Hooks> hooks, std::unique_ptr<QueuePair> pair, Queue& sends, Queue& receives)
        : hooks_(std::move(hooks)), pair_(std::move(pair)), sends_(sends), receives_(receives) {
      for (Queue* queue : {&sends_, &receives_}) queue->Know(pair_.get(), this);
    }
    ~Pair() override {
      for (Queue* queue : {&sends_, &receives_}) queue->Forget(pair_.get());
    }
    absl::StatusOr<std::string> Offer() override { return pair_->Offer(); }
    absl::StatusOr<std::string> Accept(absl::string_view offer) override {
      hooks_->connecting();
      return pair_->Accept(offer);
    }
    absl::Status Complete(absl::string_view answer) override {
      hooks_->connecting();
      return pair_->Complete(answer);
    }
    absl::Status PostSend(absl::Span<const SendRequest> batch) override {
      hooks_->posting(batch);
      return pair_->PostSend(batch);
    }
    absl::Status PostReceive(absl::Span<const ReceiveRequest> batch) override { return pair_->PostReceive(batch); }
    QueuePairState state() const override {
      hooks_->looking();
      return pair_->state();
    }
    QueuePairState RefreshState() override {
      hooks_->refreshing();
      return pair_->RefreshState();
    }
    absl::Status error() const override { return pair_->error(); }
    void Close() override { pair_->Close(); }

   private:
    const std::shared_ptr<const Hooks> hooks_;
    const std::unique_ptr<QueuePair> pair_;
    Queue& sends_;
    Queue& receives_;
  };

  const std::shared_ptr<const Hooks> hooks_;
};

}  // namespace skein::fabric

#endif  // SKEIN_TESTS_SUPPORT_HOOKED_DEVICE_H_
