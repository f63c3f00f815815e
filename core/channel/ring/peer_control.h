// What the peer says of itself, in the control line behind this end's ring. The peer may write there at any time, and
// anything.
//
// A WRITE's last word becomes visible no earlier than the others (core/fabric). The last word is a check of the others:
// while a line lands over another one, the check is of other words, and there is nothing to be seen yet. So no line is
// taken for two halves of different ones, whatever pieces a NIC or a kernel lands them in. Of the line that lands, the
// check comes last: a look that came too early is followed by another check, which is news again.
//
// | atomic | written | pairs with |
// |---|---|---|
// | the line's check | by the device, the peer's WRITE, release | acquire in Look: the words before it are there |
// | the line's other words | the same | relaxed in Look, after the check: they are newer, or its own |
// | heeded_ | in the sender's place, relaxed | the poller, relaxed: a poller that finds an old value asks for Heed in vain. A thread that has heeded in the poller's stead tells it by an event (lane.h) |
#ifndef SKEIN_CORE_CHANNEL_RING_PEER_CONTROL_H_
#define SKEIN_CORE_CHANNEL_RING_PEER_CONTROL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "core/wire/control.h"

namespace skein::channel {

class PeerControl {
 public:
  // `line`: aligned to 8 bytes, and zeros. It outlives this.
  PeerControl(std::byte* line, uint64_t secret) : words_(reinterpret_cast<uint64_t*>(line)), secret_(secret) {}

  // The poller. Whether there is a line that nobody has heeded.
  bool news() const { return Word(kCheck, std::memory_order_relaxed) != heeded_.load(std::memory_order_relaxed); }

  // The rest: in the sender's place. The line, if it is another one than at the last look. `heeds`: it is no news any
  // more. DATA_LOSS: no Skein writes that.
  absl::StatusOr<std::optional<wire::Control>> Look(bool heeds) {
    const uint64_t check = Word(kCheck, std::memory_order_acquire);
    if (heeds) heeded_.store(check, std::memory_order_relaxed);
    if (check == seen_) return std::nullopt;
    wire::ControlLine line;
    for (size_t i = 0; i < kCheck; ++i) line[i] = Word(i, std::memory_order_relaxed);
    line[kCheck] = check;
    absl::StatusOr<std::optional<wire::Control>> control = wire::DecodeControl(line, secret_);
    if (control.ok() && control->has_value()) seen_ = check;
    return control;
  }

 private:
  static constexpr size_t kCheck = wire::kControlWords - 1;
  uint64_t Word(size_t i, std::memory_order order) const { return std::atomic_ref<uint64_t>(words_[i]).load(order); }

  uint64_t* const words_;
  const uint64_t secret_;
  std::atomic<uint64_t> heeded_ = 0;
  uint64_t seen_ = 0;
};

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_RING_PEER_CONTROL_H_
