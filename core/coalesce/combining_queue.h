// FLOCK's combining queue: of the threads that want the same thing done at the same time, the first one leads and does
// it for a batch of them; then the next one leads. An MCS queue lock whose holder may also do its waiters' work.
//
//   struct SendRequest : coalesce::Entry<SendRequest> { ...; absl::Status result; };
//   coalesce::CombiningQueue<SendRequest> queue;
//
//   SendRequest request{...};                                          // on the stack
//   if (queue.Join(request) == coalesce::Turn::kDone) return request.result;
//   auto batch = queue.Gather(request, 32, [&](const SendRequest& next) { return next.bytes <= space; });
//   for (SendRequest& each : batch) each.result = ...;                 // one doorbell for all of them
//   queue.Finish(batch);
//
// Any thread may call Join or TryJoin; the leader, the rest. Requests are served in the order of their Joins. Atomics,
// their order and their partners are in README.md.
#ifndef SKEIN_CORE_COALESCE_COMBINING_QUEUE_H_
#define SKEIN_CORE_COALESCE_COMBINING_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/coalesce/batch.h"

namespace skein::coalesce {

enum class Turn { kLead, kDone };

template <class Request>
class CombiningQueue {
 public:
  CombiningQueue() = default;
  CombiningQueue(const CombiningQueue&) = delete;
  CombiningQueue& operator=(const CombiningQueue&) = delete;

  // Waits until a leader has done `request`, or until this thread leads, perhaps at once. `help` is what the thread can
  // do of it by itself meanwhile, when a leader offers (see Offer): called once at most.
  template <class Help>
  Turn Join(Request& request, Help help) {
    request.next_.store(nullptr, std::memory_order_relaxed);
    request.state_.store(Request::kWaiting, std::memory_order_relaxed);
    Request* const before = tail_.exchange(&request, std::memory_order_acq_rel);
    if (before == nullptr) return Turn::kLead;
    before->next_.store(&request, std::memory_order_release);
    return Wait(request, help);
  }
  Turn Join(Request& request) {
    return Join(request, [] {});
  }

  // Leads at once, or does not join.
  bool TryJoin(Request& request) {
    request.next_.store(nullptr, std::memory_order_relaxed);
    request.state_.store(Request::kWaiting, std::memory_order_relaxed);
    Request* nobody = nullptr;
    return tail_.compare_exchange_strong(nobody, &request, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  // The leader's own request and those that wait behind it: `max` at most, and up to the first that does not fit.
  // `fits` is asked of each in turn, but for the own.
  template <class Fits>
  Batch<Request> Gather(Request& own, size_t max, Fits fits) {
    Batch<Request> batch(own);
    while (batch.size_ < max) {
      Request* const next = batch.last_->next_.load(std::memory_order_acquire);
      if (next == nullptr || !fits(*next)) break;
      batch.last_ = next;
      ++batch.size_;
    }
    return batch;
  }

  // Lets a request of the batch help itself, if its thread is awake. Once at most, then Collect.
  static void Offer(Request& request) {
    uint32_t waiting = Request::kWaiting;
    request.state_.compare_exchange_strong(waiting, Request::kOffered, std::memory_order_release,
                                           std::memory_order_relaxed);
  }
  // Waits for the helper if it has begun. False: it has not, nor will it; the leader is to do it.
  static bool Collect(Request& request) {
    uint32_t offered = Request::kOffered;
    if (request.state_.compare_exchange_strong(offered, Request::kWaiting, std::memory_order_relaxed)) return false;
    const uint32_t state = Atomics::Await(request.state_, uint32_t{Request::kHelping}, std::memory_order_acquire);
    return (state & ~Request::kParked) == Request::kHelped;
  }

  // Hands leadership on and lets the batch's other threads go, whose requests may be gone then. False: nobody was
  // waiting to lead.
  bool Finish(Batch<Request>& batch) {
    Request* const successor = Close(*batch.last_);
    if (successor != nullptr) Tell(*successor, Request::kLeads);
    Request* follower = batch.own_->next_.load(std::memory_order_relaxed);
    for (; batch.size_ > 1; --batch.size_) {
      Request* const next = follower->next_.load(std::memory_order_relaxed);
      Tell(*follower, Request::kDone);
      follower = next;
    }
    return successor != nullptr;
  }

 private:
  using Atomics = typename Request::Atomics;

  // Who comes after `last`. Null: nobody, and nobody leads any more.
  Request* Close(Request& last) {
    Request* const next = last.next_.load(std::memory_order_acquire);
    if (next != nullptr) return next;
    Request* tail = &last;
    if (tail_.compare_exchange_strong(tail, nullptr, std::memory_order_release, std::memory_order_relaxed)) {
      return nullptr;
    }
    // Somebody has exchanged the tail and is about to say so.
    return Atomics::Await(last.next_, static_cast<Request*>(nullptr), std::memory_order_acquire);
  }

  // The last access to `request`: only its address is used after it.
  static void Tell(Request& request, uint32_t state) {
    const void* const address = &request.state_;
    if (request.state_.exchange(state, std::memory_order_release) & Request::kParked) Atomics::Unpark(address);
  }

  template <class Help>
  static Turn Wait(Request& request, Help& help) {
    uint32_t idle = Request::kWaiting;  // the state while there is nothing to do
    for (;;) {
      uint32_t state = Atomics::Spin(request.state_, idle, std::memory_order_acquire);
      if (state == Request::kLeads) return Turn::kLead;
      if (state == Request::kDone) return Turn::kDone;
      if (state == Request::kOffered) {
        if (!request.state_.compare_exchange_strong(state, Request::kHelping, std::memory_order_relaxed)) continue;
        help();
        request.state_.store(idle = Request::kHelped, std::memory_order_release);
      } else if (state == (idle | Request::kParked) ||
                 request.state_.compare_exchange_strong(state, idle | Request::kParked, std::memory_order_relaxed)) {
        idle |= Request::kParked;
        Atomics::Park(request.state_, idle);
      }
    }
  }

  typename Atomics::template Atomic<Request*> tail_{nullptr};  // null: nobody leads
};

}  // namespace skein::coalesce

#endif  // SKEIN_CORE_COALESCE_COMBINING_QUEUE_H_
