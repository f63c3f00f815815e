// How much of its ring an end has consumed, between the poller, which reads there, and the sender's place, which tells
// the peer.
//
// The poller looks at two marks whenever it has read, and before it sleeps: so it needs no word of the thread that
// moves tell_at_. That mark goes down only when the place heeds that the peer wants to be told sooner. The poller has
// asked for that. Either the poller heeds by itself, or it hears of it by an event (lane.h) and looks again.
//
// | atomic | written | pairs with |
// |---|---|---|
// | consumed_ | by the poller, release, after it has copied what it read | acquire in consumed(), before the peer hears of it and writes there again |
// | tell_at_ | in the sender's place, relaxed | the poller, relaxed: see above |
//
// A template, so that tests run these very functions in every order (tests/unit/channel_ring/consumption_test.cc).
#ifndef SKEIN_CORE_CHANNEL_RING_CONSUMPTION_H_
#define SKEIN_CORE_CHANNEL_RING_CONSUMPTION_H_

#include <atomic>
#include <cstdint>

namespace skein::channel {

struct SystemWords {
  template <class T>
  using Atomic = std::atomic<T>;
};

template <class Words>
class BasicConsumption {
 public:
  // `tell_at`: as TellAt.
  explicit BasicConsumption(uint64_t tell_at) : tell_at_(tell_at) {}

  // The poller: what lies before `position` may be written over once the peer hears of it.
  void Consume(uint64_t position) { consumed_.store(position, std::memory_order_release); }
  // The poller: whether it is time to tell the peer.
  bool due() const { return consumed_.load(std::memory_order_relaxed) >= tell_at_.load(std::memory_order_relaxed); }

  // The sender's place: what the peer may be told.
  uint64_t consumed() const { return consumed_.load(std::memory_order_acquire); }
  // The sender's place: the peer is to be told once so much is consumed.
  void TellAt(uint64_t position) { tell_at_.store(position, std::memory_order_relaxed); }

 private:
  typename Words::template Atomic<uint64_t> consumed_{0};
  typename Words::template Atomic<uint64_t> tell_at_;
};

using Consumption = BasicConsumption<SystemWords>;

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_RING_CONSUMPTION_H_
