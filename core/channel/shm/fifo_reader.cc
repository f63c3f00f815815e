#include "core/channel/shm/fifo_reader.h"

#include <array>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/channel/shm/layout.h"
#include "core/wire/message.h"

namespace skein::channel::shm {
namespace {

// Each word of it is loaded once, whatever the compiler thinks of memory that nobody else writes to.
MessageHeader HeaderAt(const std::byte* at) {
  auto* const words = reinterpret_cast<uint64_t*>(const_cast<std::byte*>(at));  // atomic_ref takes no const in C++20
  const std::array<uint64_t, 2> loaded = {std::atomic_ref<uint64_t>(words[0]).load(std::memory_order_relaxed),
                                          std::atomic_ref<uint64_t>(words[1]).load(std::memory_order_relaxed)};
  return std::bit_cast<MessageHeader>(loaded);
}

}  // namespace

absl::Status FifoReader::Break(absl::string_view what) {
  broken_ = absl::DataLossError(what);
  return broken_;
}

absl::Status FifoReader::LookBehind() {
  if (!broken_.ok()) return broken_;
  if (seen_ == position_) {
    const uint64_t published = Handover<>::Published(published_);
    if (published == position_) return absl::OkStatus();
    if (published < position_ || published - position_ > fifo_.size() || published % kUnit != 0) {
      return Break(absl::StrCat("the peer has published up to ", published, ", read up to ", position_));
    }
    seen_ = published;
  }
  MessageHeader header = HeaderAt(fifo_.data() + offset_);
  if (header.bytes == kMarker) {
    if (absl::Status status = FollowMarker(); !status.ok()) return status;
    header = HeaderAt(fifo_.data() + offset_);
  }
  const uint64_t available = seen_ - position_ - skipped_;
  // A writer leaves a unit for the marker: so there is always a header to look at.
  if (header.items == 0 || header.bytes > available || Footprint(header.bytes) > available ||
      Footprint(header.bytes) + kUnit > fifo_.size() - offset_) {
    return Break(
        absl::StrCat("a message of ", header.items, " items in ", header.bytes, " bytes, where there are ", available));
  }
  footprint_ = Footprint(header.bytes);
  next_ = InMessage{header.items, header.stage_time, fifo_.subspan(offset_ + sizeof(header), header.bytes)};
  return absl::OkStatus();
}

absl::Status FifoReader::FollowMarker() {
  // A writer returns in order to write a message there: so no peer keeps anybody here.
  if (offset_ == 0 || seen_ - position_ <= kUnit) return Break("a marker without a message behind it");
  skipped_ = kUnit;
  offset_ = 0;
  return absl::OkStatus();
}

size_t FifoReader::Pop() {
  if (!next_.has_value()) return 0;
  const size_t freed = footprint_ + std::exchange(skipped_, 0);
  next_.reset();
  position_ += freed;
  offset_ += footprint_;
  Handover<>::Consume(consumed_, position_);
  return freed;
}

}  // namespace skein::channel::shm
