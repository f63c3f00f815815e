#include "core/channel/shm/fifo_writer.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/channel/shm/handover.h"
#include "core/channel/shm/pages.h"
#include "core/wire/message.h"

namespace skein::channel::shm {
namespace {

// How often it looks how much lies unread, and after how many messages memory goes back that none of these looks found
// in use. Memory costs some 0.1 us a page to get: for a few thousand messages that is nothing.
constexpr uint64_t kSampleEvery = 64;
constexpr uint64_t kLowersEvery = 4096;
// When the kernel is asked again for the memory that it has refused: nothing tells when there is some.
constexpr std::chrono::milliseconds kAskAgainAfter{100};

size_t UpToPowerOfTwo(size_t value) {
  size_t power = 1;
  while (power < value) power *= 2;
  return power;
}

}  // namespace

FifoWriter::FifoWriter(absl::Span<std::byte> fifo, size_t reserved, const std::atomic<uint64_t>& consumed)
    : fifo_(fifo),
      peer_consumed_(consumed),
      grows_(reserved < fifo.size()),
      limit_(std::min(reserved, fifo.size())),
      next_sample_(kSampleEvery),
      lowers_after_(kLowersEvery) {}

size_t FifoWriter::Largest(size_t reserve) const {
  const Free space = FreeUpTo(reachable());
  const size_t kept_here = space.again >= reserve ? 0 : reserve;
  const size_t here = space.here > kept_here ? space.here - kept_here : 0;
  const size_t again = space.again > reserve ? space.again - reserve : 0;
  return std::min(std::max(here, again), fifo_.size() / 4) & ~(kUnit - 1);
}

size_t FifoWriter::Space(size_t reserve) {
  AskAgainIfDue();
  size_t largest = Largest(reserve);
  if (largest < Footprint(wire::ItemBytes(LargestItemNow()))) {
    Refresh();
    largest = Largest(reserve);
    cramped_ |= largest == 0 && two_laps();
  }
  return broken_ || largest == 0 ? 0 : largest - sizeof(MessageHeader);
}

FifoWriter::Place FifoWriter::Find(size_t bytes, size_t reserve) const {
  const Free space = FreeUpTo(limit_);
  if (bytes <= space.here && (space.again >= reserve || space.here - bytes >= reserve)) return Place::kHere;
  if (bytes + reserve <= space.again) return Place::kAgain;
  return Place::kNone;
}

// A writer that has little before it when it returns to the beginning is cramped until the reader has followed it: then
// it takes more memory first.
bool FifoWriter::Cramps(Place place) const {
  return place == Place::kAgain && limit_ < fifo_.size() && !refused() && (cramped_ || head() < limit_ / 2);
}

FifoWriter::Place FifoWriter::FindOrGrow(size_t bytes, size_t reserve) {
  AskAgainIfDue();
  Place place = Find(bytes, reserve);
  if (place == Place::kNone || Cramps(place)) {
    Refresh();
    place = Find(bytes, reserve);
  }
  if (broken_) return Place::kNone;
  if (place != Place::kNone && !Cramps(place)) return place;
  if (two_laps()) {
    cramped_ = true;
    return Place::kNone;
  }
  const size_t kept_here = head() >= reserve ? 0 : reserve;
  const bool grown = Grow(offset_ + bytes + kept_here + kUnit);
  // Where the limit was lowered since, the beginning may have space enough behind it.
  return grown || place != Place::kNone || Grow(bytes + reserve + kUnit) ? Find(bytes, reserve) : Place::kNone;
}

bool FifoWriter::Grow(size_t needed) {
  if (refused() || needed > fifo_.size()) return false;
  size_t limit = limit_;
  while (limit < needed) limit *= 2;
  limit = std::min(limit, fifo_.size());
  if (!ReservePages(fifo_.subspan(limit_, limit - limit_))) {
    refused_ = true;
    asks_again_ = Clock::now() + kAskAgainAfter;
    return false;
  }
  limit_ = limit;
  cramped_ = false;
  return true;
}

absl::Status FifoWriter::Lay(absl::Span<OutItem> items, size_t reserve) {
  if (messages_ >= next_sample_) Sample();
  size_t bytes = 0;
  for (const OutItem& item : items) bytes += wire::ItemBytes(item.header.size);
  const size_t footprint = Footprint(bytes);
  laid_ = {};
  Place place = Place::kHere;
  if (!FitsHere(footprint, reserve)) [[unlikely]] {
    place = footprint > fifo_.size() / 4 ? Place::kNone : FindOrGrow(footprint, reserve);
  }
  if (place == Place::kNone) return absl::ResourceExhaustedError("the peer's queue is full");
  if (place == Place::kAgain) {
    const MessageHeader marker = {kMarker, 0, 0};
    std::memcpy(fifo_.data() + offset_, &marker, sizeof(marker));
  }
  laid_ = {place == Place::kAgain ? 0 : offset_, footprint, place == Place::kAgain};
  MessageHeader header;
  header.bytes = static_cast<uint32_t>(bytes);
  header.items = static_cast<uint32_t>(items.size());
  std::byte* at = Append(fifo_.data() + laid_.offset, &header, sizeof(header));
  for (OutItem& item : items) at = item.LayAt(at);
  return absl::OkStatus();
}

uint64_t FifoWriter::Commit(uint64_t stage_time) {
  if (laid_.bytes == 0) return position_;
  if (stage_time != 0) [[unlikely]]
    std::memcpy(fifo_.data() + laid_.offset + offsetof(MessageHeader, stage_time), &stage_time, sizeof(stage_time));
  if (laid_.again) {
    previous_lap_ = lap_;
    lap_ = position_ += kUnit;
  }
  position_ += laid_.bytes;
  offset_ = laid_.offset + laid_.bytes;
  laid_ = {};
  ++messages_;
  return position_;
}

uint64_t FifoWriter::Refresh() {
  const uint64_t consumed = Handover<>::ConsumedByPeer(peer_consumed_);
  if (consumed < consumed_ || consumed > position_ || consumed % kUnit != 0) {
    broken_ = true;
  } else {
    consumed_ = consumed;
  }
  return consumed_;
}

// At the samples, because to know what lies unread is to fetch the peer's line.
void FifoWriter::Sample() {
  next_sample_ = messages_ + kSampleEvery;
  Refresh();
  most_unread_ = std::max(most_unread_, position_ - consumed_);
  if (!grows_ || messages_ < lowers_after_) return;
  // Where it lies unread all the time, it is in use.
  const size_t enough = std::max(kFirstBytes, UpToPowerOfTwo(static_cast<size_t>(most_unread_) * 4));
  if (enough < limit_ && position_ != consumed_) return;
  if (enough < limit_) LowerTo(enough);
  lowers_after_ = messages_ + kLowersEvery;
  most_unread_ = 0;
}

// Nothing lies unread. But where the next marker may have to stand, there stays a page.
void FifoWriter::LowerTo(size_t limit) {
  const size_t page = offset_ / kPageBytes * kPageBytes;
  const size_t before = std::max(limit, std::min(page, fifo_.size()));
  const size_t after = std::max(limit, std::min(page + kPageBytes, fifo_.size()));
  if (page >= limit) GiveBackPages(fifo_.subspan(limit, before - limit));
  GiveBackPages(fifo_.subspan(after));
  limit_ = limit;
}

}  // namespace skein::channel::shm
