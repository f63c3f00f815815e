// A link of the test's: whoever polls it takes what was sent, and its descriptor is readable then.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_EVENT_ENGINE_WAKE_SOURCE_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_EVENT_ENGINE_WAKE_SOURCE_H_

#include <sys/eventfd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "core/base/unique_fd.h"
#include "core/wait/source.h"

namespace skein::grpc_transport {

// Any thread.
class WakeSource final : public wait::Source {
 public:
  enum class Wakeup { kRings, kSilent };

  // `on_message`: as an observer, inside the poll. kSilent: there is no descriptor, so nobody is woken.
  explicit WakeSource(std::function<void()> on_message, Wakeup notification = Wakeup::kRings)
      : on_message_(std::move(on_message)),
        fd_(notification == Wakeup::kRings ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : -1) {}

  void Send() {
    messages_.fetch_add(1);
    Ring();
  }
  // There is nothing more to come.
  void End() {
    ended = true;
    Ring();
  }

  bool Poll() override {
    const std::unique_lock lock(polling_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    polls.fetch_add(1);
    last_poller = std::this_thread::get_id();
    eventfd_t ignored = 0;
    if (fd_.valid()) eventfd_read(fd_.get(), &ignored);
    bool any = false;
    for (; messages_.load() > 0; any = true) {
      messages_.fetch_sub(1);
      on_message_();
    }
    return any;
  }
  bool Arm() override { return messages_.load() == 0; }
  int fd() const override { return fd_.get(); }
  bool finished() const override { return ended; }
  bool Retire() override {
    if (lingers) return false;
    ended = true;
    if (!retired.HasBeenNotified()) retired.Notify();
    return true;
  }

  std::atomic<int> polls = 0;
  std::atomic<std::thread::id> last_poller;
  std::atomic<bool> ended = false;
  std::atomic<bool> lingers = false;
  absl::Notification retired;

 private:
  void Ring() {
    if (fd_.valid()) eventfd_write(fd_.get(), 1);
  }

  const std::function<void()> on_message_;
  const UniqueFd fd_;
  std::mutex polling_;
  std::atomic<int> messages_ = 0;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_EVENT_ENGINE_WAKE_SOURCE_H_
