// What lies between the poller of a ring's channel, the sender's place, and the peer: no lock, two words in this end's
// memory, and the line that the peer writes.
//
// *How much is consumed.* The poller consumes, the place tells the peer. The poller looks at the mark tell_at_ whenever
// it has read, and before it sleeps: so it needs no word of the thread that moves the mark. The mark goes down only
// where the place heeds that the peer wants to be told sooner. The poller has asked for that. Either it heeds by
// itself, or it hears by an event that somebody did (link/events.h), and looks again.
//
// *What the peer says.* A WRITE's last word becomes visible no earlier than the others (core/fabric). The last word is
// a check of the others: while a line lands over another one, the check is of other words, and there is nothing to be
// seen yet. So no line is taken for halves of two, whatever pieces a NIC or a kernel lands them in. Such a line stays
// news: the poller looks again, and does not sleep. For the line that lands may have no notification, and the one below
// it may have had one, which the poller has heard. A peer that leaves its line so is no honest one, and its link ends.
//
// | atomic | written | pairs with |
// |---|---|---|
// | consumed_ | by the poller, release, after its copy | acquire in consumed(), before the peer hears of it |
// | tell_at_ | in the sender's place, relaxed | the poller, relaxed: see above |
// | the line's words | by the device, the peer's WRITE | relaxed in Look: words of two lines fail the check |
// | heeded_ | in the sender's place, relaxed | the poller, relaxed: with an old value it asks in vain |
//
// Templates, so that tests run these very functions in every order (tests/unit/channel_ring/handover_test.cc).
#ifndef SKEIN_CORE_CHANNEL_RING_HANDOVER_H_
#define SKEIN_CORE_CHANNEL_RING_HANDOVER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "core/wire/control.h"

namespace skein::channel {

struct SystemWords {
  template <class T>
  using Atomic = std::atomic<T>;
  static uint64_t Load(uint64_t* word, std::memory_order order) { return std::atomic_ref<uint64_t>(*word).load(order); }
};

template <class Words = SystemWords>
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

template <class Words = SystemWords>
class BasicPeerControl {
 public:
  // `line`: wire::kControlWords, zeros. It outlives this.
  BasicPeerControl(uint64_t* line, uint64_t secret) : line_(line), secret_(secret) {}

  // So many looks take seconds; a WRITE of one line lands within microseconds.
  static constexpr uint32_t kMostLooks = 1 << 22;

  // The poller: whether there is a line that nobody has heeded.
  bool news() const {
    return Words::Load(line_ + kCheck, std::memory_order_relaxed) != heeded_.load(std::memory_order_relaxed);
  }

  // The sender's place: the line, if it is another one than at the last look, and whole. `heeds`: it is no news any
  // more. DATA_LOSS: no Skein writes that.
  absl::StatusOr<std::optional<wire::Control>> Look(bool heeds) {
    const uint64_t check = Words::Load(line_ + kCheck, std::memory_order_relaxed);
    absl::StatusOr<std::optional<wire::Control>> control = std::nullopt;
    if (check != seen_) {
      control = Read(check);
      if (!control.ok() || !control->has_value()) return control;
      seen_ = check;
    }
    if (heeds) heeded_.store(check, std::memory_order_relaxed);
    return control;
  }

 private:
  static constexpr size_t kCheck = wire::kControlWords - 1;

  absl::StatusOr<std::optional<wire::Control>> Read(uint64_t check) {
    wire::ControlLine line;
    for (size_t i = 0; i < kCheck; ++i) line[i] = Words::Load(line_ + i, std::memory_order_relaxed);
    line[kCheck] = check;
    absl::StatusOr<std::optional<wire::Control>> control = wire::DecodeControl(line, secret_);
    looks_ = control.ok() && !control->has_value() ? looks_ + 1 : 0;
    if (looks_ == kMostLooks) return absl::DataLossError("the peer's control line never becomes whole");
    return control;
  }

  uint64_t* const line_;
  const uint64_t secret_;
  typename Words::template Atomic<uint64_t> heeded_{0};
  uint64_t seen_ = 0;   // the sender's place's
  uint32_t looks_ = 0;  // the same: in a row, at a line that is not whole
};

using Consumption = BasicConsumption<>;
using PeerControl = BasicPeerControl<>;

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_RING_HANDOVER_H_
