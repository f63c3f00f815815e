// A completion queue of a process, as skeind writes it.
#ifndef SKEIN_CORE_SERVICE_COMPLETIONS_H_
#define SKEIN_CORE_SERVICE_COMPLETIONS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/closer.h"
#include "core/base/mapping.h"
#include "core/base/socket_message.h"
#include "core/base/unique_fd.h"
#include "core/fabric/service/shared_queues.h"
#include "core/service/budget.h"

namespace skein::service {

// skeind's thread.
class Completions : public std::enable_shared_from_this<Completions> {
 public:
  // Those whose sleeper the kernel had no memory to wake: to be tried again.
  using Unwoken = std::vector<std::weak_ptr<Completions>>;

  Completions(UserBudget::Share mapped, Mapping memory, uint64_t capacity, Unwoken& unwoken)
      : mapped_(std::move(mapped)),
        memory_(std::move(memory)),
        ring_(memory_.data(), capacity),
        capacity_(capacity),
        unwoken_(unwoken) {}

  ~Completions() { Closer::Get().CloseSocket(std::move(waker_)); }

  void WakeBy(UniqueFd socket) { waker_ = std::move(socket); }
  bool has_waker() const { return waker_.valid(); }

  // False: there is no space, or the process says that it has consumed what there never was. The process sees nothing
  // before Publish.
  bool Add(const fabric::service::CompletionEntry& entry) {
    const uint64_t held = position_ - ring_.header().consumed.load(std::memory_order_acquire);
    if (held >= capacity_) return false;
    ring_.at(position_++) = entry;
    return true;
  }
  bool has_news() const { return position_ != published_; }
  void Publish() {
    published_ = position_;
    ring_.header().published.store(position_, std::memory_order_release);
    WakeIfAsleep();
  }
  // For what no completion tells.
  void WakeIfAsleep() {
    if (!fabric::service::TakeDown(ring_.header().sleeps)) return;
    // A socket that is full has woken the sleeper already.
    if (SendMessage(waker_.get(), "!") != SendResult::kNoMemory) return;
    fabric::service::PutUp(ring_.header().sleeps);
    unwoken_.push_back(weak_from_this());
  }

 private:
  const UserBudget::Share mapped_;
  const Mapping memory_;
  const fabric::service::CompletionRing ring_;
  const uint64_t capacity_;
  Unwoken& unwoken_;
  UniqueFd waker_;  // the process has had it in its hands: to close it may take long
  uint64_t position_ = 0;
  uint64_t published_ = 0;
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_COMPLETIONS_H_
