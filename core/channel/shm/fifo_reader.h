// The reading end of a FIFO; see layout.h. Everything in it is the peer's word: each header is copied once, and
// checked.
#ifndef SKEIN_CORE_CHANNEL_SHM_FIFO_READER_H_
#define SKEIN_CORE_CHANNEL_SHM_FIFO_READER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/channel/channel.h"
#include "core/channel/shm/handover.h"

namespace skein::channel::shm {

// One thread at a time.
class FifoReader {
 public:
  // `published`: the peer's word. `consumed`: this end's, for the peer.
  FifoReader(absl::Span<const std::byte> fifo, const std::atomic<uint64_t>& published, std::atomic<uint64_t>& consumed)
      : fifo_(fifo), published_(published), consumed_(consumed) {}

  // Looks for the next message. Once it has failed it fails for ever.
  absl::Status Look() { return next_.has_value() ? absl::OkStatus() : LookBehind(); }
  // The message, if it was there; until Pop.
  const std::optional<InMessage>& next() const { return next_; }
  // Gives the bytes of the FIFO that it frees.
  size_t Pop();
  // Whether Look would find a message, or an error.
  bool Readable() const {
    return seen_ != position_ || Handover<>::Published(published_) != position_ || !broken_.ok();
  }
  uint64_t position() const { return position_; }  // consumed up to here

 private:
  absl::Status LookBehind();
  absl::Status FollowMarker();
  absl::Status Break(absl::string_view what);

  const absl::Span<const std::byte> fifo_;
  const std::atomic<uint64_t>& published_;
  std::atomic<uint64_t>& consumed_;

  uint64_t position_ = 0;
  size_t offset_ = 0;     // of position_, in the FIFO
  uint64_t seen_ = 0;     // published, as last seen
  uint64_t skipped_ = 0;  // of the marker before `next_`
  size_t footprint_ = 0;  // of `next_`
  std::optional<InMessage> next_;
  absl::Status broken_;
};

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_FIFO_READER_H_
