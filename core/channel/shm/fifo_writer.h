// The writing end of a FIFO; see layout.h.
//
// A lap begins where the FIFO begins. Unread messages are of this lap, or begin in the one before:
//
//     0        offset_            limit_       capacity        0     offset_    head         limit_
//     | free |##unread##|  free   |.. not yet ..|              |#unread#|  free  |##unread##M|
//            head                    (this lap)                           (M: marker; two laps)
//
// The marker always fits: a lap ends a unit before limit_. While two laps lie unread, the limit cannot be moved.
#ifndef SKEIN_CORE_CHANNEL_SHM_FIFO_WRITER_H_
#define SKEIN_CORE_CHANNEL_SHM_FIFO_WRITER_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/base/deadline.h"
#include "core/channel/out_item.h"
#include "core/channel/shm/layout.h"
#include "core/wire/message.h"

namespace skein::channel::shm {

// One thread at a time.
class FifoWriter {
 public:
  // `fifo`: all of it, of which `reserved` bytes may be touched. `consumed`: the peer's word.
  FifoWriter(absl::Span<std::byte> fifo, size_t reserved, const std::atomic<uint64_t>& consumed);

  // Bytes of items that one message could carry now, and still leave a piece of `reserve` bytes.
  size_t Space(size_t reserve);
  // Whether a message of so many bytes of items fits, without a look at what the peer has consumed. False says nothing.
  bool Fits(size_t bytes, size_t reserve) const { return FitsHere(Footprint(bytes), reserve); }
  // A quarter, so that there is a piece of that size in an empty FIFO, wherever its end is. Constant, any thread.
  size_t LargestItem() const { return LargestItemIn(fifo_.size()); }
  // The same in the memory that may be had, as of the last Space or Lay: a sender that found no space for an item must
  // not learn a moment later that more memory may be asked for, and then wait for a peer that has nothing to tell.
  size_t LargestItemNow() const { return LargestItemIn(reachable()); }
  // Where the message goes that Commit makes part of the FIFO. RESOURCE_EXHAUSTED: see Space.
  absl::Status Lay(absl::Span<OutItem> items, size_t reserve);
  // The position to publish.
  uint64_t Commit(uint64_t stage_time);

  // Looks at what the peer has consumed.
  uint64_t Refresh();

  uint64_t position() const { return position_; }  // committed up to here
  uint64_t consumed() const { return consumed_; }  // as last seen
  uint64_t messages() const { return messages_; }
  // The kernel has given no more memory when it was asked last, and was not to be asked again at the last Space or Lay.
  bool refused() const { return refused_; }
  // The peer has said that it consumed what cannot be.
  bool broken() const { return broken_; }

 private:
  struct Free {
    size_t here = 0;   // in one piece, from offset_ on
    size_t again = 0;  // from the beginning on, after a marker
  };
  Free FreeUpTo(size_t limit) const {
    const size_t end = limit - kUnit;
    if (two_laps()) return {std::min(head(), end) - std::min(offset_, end), 0};
    return {end - std::min(offset_, end), std::min(head(), end)};
  }
  // With the reserve behind it, in this lap. Most messages fit so.
  bool FitsHere(size_t footprint, size_t reserve) const {
    return footprint <= fifo_.size() / 4 && offset_ + footprint + reserve + kUnit <= limit_ && !two_laps() && !broken_;
  }
  size_t reachable() const { return refused() ? limit_ : fifo_.size(); }
  static size_t LargestItemIn(size_t bytes) {
    return bytes / 4 - sizeof(MessageHeader) - sizeof(wire::ItemHeader) - kUnit;
  }
  // Bytes of the largest message.
  size_t Largest(size_t reserve) const;
  enum class Place { kNone, kHere, kAgain };
  Place Find(size_t bytes, size_t reserve) const;
  bool Cramps(Place place) const;
  Place FindOrGrow(size_t bytes, size_t reserve);
  bool Grow(size_t needed);
  void AskAgainIfDue() {
    if (refused_) [[unlikely]]
      refused_ = Clock::now() < asks_again_;
  }
  void LowerTo(size_t limit);
  void Sample();
  bool two_laps() const { return consumed_ < lap_; }
  size_t head() const { return static_cast<size_t>(consumed_ - (two_laps() ? previous_lap_ : lap_)); }

  const absl::Span<std::byte> fifo_;
  const std::atomic<uint64_t>& peer_consumed_;

  uint64_t position_ = 0;
  size_t offset_ = 0;  // of position_, in the FIFO
  uint64_t lap_ = 0;   // the position at the beginning of this lap, and of the one before
  uint64_t previous_lap_ = 0;
  uint64_t consumed_ = 0;
  uint64_t messages_ = 0;
  const bool grows_;  // else all of it is reserved, and stays so: pages that went back could not be had again
  size_t limit_;
  bool refused_ = false;  // by the kernel
  Deadline asks_again_;   // if so
  bool cramped_ = false;  // it has had no space though there was memory
  bool broken_ = false;

  struct Laid {
    size_t offset = 0;
    size_t bytes = 0;  // 0: nothing is laid
    bool again = false;
  };
  Laid laid_;

  uint64_t next_sample_;
  uint64_t lowers_after_;     // messages
  uint64_t most_unread_ = 0;  // bytes, at the samples since
};

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_FIFO_WRITER_H_
