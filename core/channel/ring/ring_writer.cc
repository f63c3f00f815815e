#include "core/channel/ring/ring_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/wire/immediate.h"

namespace skein::channel {
namespace {

constexpr uint32_t kSignalEvery = 16;

}  // namespace

RingWriter::RingWriter(const fabric::DeviceCapabilities& capabilities, fabric::QueuePair& queue_pair,
                       const wire::RingDescriptor& ring, std::unique_ptr<fabric::MemoryRegion> staging)
    : queue_pair_(queue_pair),
      ring_(ring),
      canaries_(ring.secret),
      // A quarter, so that a reader that reports every quarter never keeps the writer waiting for nothing.
      max_message_bytes_(static_cast<size_t>(std::min(ring.size / 4, capabilities.good_message_bytes))),
      staging_(std::move(staging)) {}

absl::StatusOr<std::unique_ptr<RingWriter>> RingWriter::Create(fabric::Device& device, fabric::QueuePair& queue_pair,
                                                               const wire::RingDescriptor& ring,
                                                               uint64_t max_staging_bytes,
                                                               std::unique_ptr<fabric::MemoryRegion> staging) {
  if (ring.size > max_staging_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the peer's ring of ", ring.size,
                     " bytes needs a staging buffer here, and skein.rdma_peer_memory allows ", max_staging_bytes));
  }
  if (staging == nullptr || staging->bytes().size() < StagingBytes(ring.size)) {
    staging = nullptr;  // first: there may not be memory for both
    absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> larger =
        device.Allocate(StagingBytes(ring.size), fabric::kLocalOnly);
    if (!larger.ok()) return larger.status();
    staging = *std::move(larger);
  }
  return std::unique_ptr<RingWriter>(new RingWriter(device.capabilities(), queue_pair, ring, std::move(staging)));
}

size_t RingWriter::Free(Reserve reserve) const {
  const size_t kept = static_cast<size_t>(reserve);
  const size_t free = ring_.size - (tail_ - peer_head_);
  return free > kept ? free - kept : 0;
}

size_t RingWriter::Space(Reserve reserve) const {
  const size_t free = Free(reserve);
  const size_t here = std::min(free, ToEnd());
  const size_t after_wrap = free > ToEnd() ? free - ToEnd() : 0;
  const size_t message = std::min(std::max(here, after_wrap), max_message_bytes_) & ~(wire::kMessageUnit - 1);
  return message < wire::MessageBytes(0) ? 0 : message - sizeof(wire::MessageHeader) - sizeof(uint64_t);
}

absl::Status RingWriter::SetPeerHead(uint64_t head) {
  if (head < peer_head_ || head > tail_) return absl::DataLossError("the peer's ring head went where no message was");
  peer_head_ = head;
  return absl::OkStatus();
}

void RingWriter::Encode(absl::Span<OutItem> items, uint64_t seen) {
  static constexpr std::byte kZeros[wire::kMessageUnit] = {};
  const uint64_t number = number_ + (position_ != tail_ ? 1 : 0);
  wire::MessageHeader header;
  header.length_and_canary = canaries_.HeadWord(number, bytes_);
  header.items = static_cast<uint32_t>(items.size());
  header.seen = static_cast<uint32_t>(seen / wire::kMessageUnit);
  std::byte* at = Append(message_.data, &header, sizeof(header));
  for (OutItem& item : items) at = item.LayAt(at);
  const uint64_t tail = canaries_.Tail(number);
  std::byte* const last = message_.data + bytes_ - sizeof(tail);
  at = Append(at, kZeros, static_cast<size_t>(last - at));
  Append(at, &tail, sizeof(tail));
}

void RingWriter::LayWrap() {
  wire::MessageHeader marker;
  marker.length_and_canary = canaries_.HeadWord(number_, wire::kMessageUnit);
  marker.items = wire::kWrap;
  const uint64_t tail = canaries_.Tail(number_);
  wrap_ = {InStaging(tail_), wire::kMessageUnit, staging_->lkey()};
  std::memset(wrap_.data, 0, wrap_.size);
  std::memcpy(wrap_.data, &marker, sizeof(marker));
  std::memcpy(wrap_.data + wrap_.size - sizeof(tail), &tail, sizeof(tail));
}

absl::Status RingWriter::Lay(absl::Span<OutItem> items, Reserve reserve, uint64_t seen) {
  size_t item_bytes = 0;
  for (const OutItem& item : items) item_bytes += wire::ItemBytes(item.header.size);
  bytes_ = wire::MessageBytes(item_bytes);
  position_ = bytes_ > ToEnd() ? tail_ + ToEnd() : tail_;
  if (item_bytes > Space(reserve) || position_ + bytes_ - tail_ > Free(reserve)) {
    return absl::ResourceExhaustedError("the peer's ring is full");
  }
  if (position_ != tail_) LayWrap();
  message_ = {InStaging(position_), bytes_, staging_->lkey()};
  Encode(items, seen);
  return absl::OkStatus();
}

void RingWriter::Stamp(uint64_t stage_time) {
  std::memcpy(message_.data + offsetof(wire::MessageHeader, stage_time), &stage_time, sizeof(stage_time));
}

void RingWriter::Fill(fabric::SendRequest& request, bool rings, uint64_t offset, const fabric::Segment& segment,
                      uint64_t id) const {
  request.opcode = rings ? fabric::Opcode::kWriteWithImmediate : fabric::Opcode::kWrite;
  request.remote = {ring_.address + offset, ring_.rkey};
  request.local = {&segment, 1};
  request.signaled = false;
  request.id = id;
}

// The last of the batch rings, and completes for those before it.
absl::Status RingWriter::Submit(absl::Span<fabric::SendRequest> batch, const Posting& posting) {
  const auto count = static_cast<uint32_t>(batch.size());
  fabric::SendRequest& last = batch.back();
  last.immediate = posting.immediate;
  last.signaled = posting.signaled || unsignaled_ + count >= kSignalEvery;
  if (absl::Status posted = queue_pair_.PostSend(batch); !posted.ok()) return posted;
  unsignaled_ = last.signaled ? 0 : unsignaled_ + count;
  return absl::OkStatus();
}

// In the next of the places behind the staging buffer: as many as requests may be under way.
fabric::Segment RingWriter::Stage(const wire::Control& control) {
  const wire::ControlLine line = wire::EncodeControl(control, ring_.secret);
  std::byte* const place = staging_->bytes().data() + ring_.size + said_ % kSends * sizeof(line);
  std::memcpy(place, line.data(), sizeof(line));
  return {place, sizeof(line), staging_->lkey()};
}

absl::Status RingWriter::Post(const Posting& posting, const wire::Control* says) {
  const bool wraps = position_ != tail_;
  const uint64_t number = number_ + (wraps ? 2 : 1);
  fabric::SendRequest request;
  Fill(request, posting.rings, position_ % ring_.size, message_, number);
  absl::Status posted = wraps || says != nullptr ? PostBehind(request, posting, says) : Submit({&request, 1}, posting);
  if (!posted.ok()) return posted;
  tail_ = position_ + bytes_;
  number_ = number;
  return absl::OkStatus();
}

// With a line, and with what sends the reader to the ring's start, if need be.
absl::Status RingWriter::PostBehind(const fabric::SendRequest& message, const Posting& posting,
                                    const wire::Control* says) {
  fabric::SendRequest batch[3];
  size_t count = 0;
  fabric::Segment line;
  if (says != nullptr) {
    line = Stage(*says);
    Fill(batch[count++], /*rings=*/false, ring_.size, line, number_);
  }
  if (position_ != tail_) Fill(batch[count++], /*rings=*/false, tail_ % ring_.size, wrap_, number_ + 1);
  batch[count++] = message;
  if (absl::Status posted = Submit(absl::MakeSpan(batch).first(count), posting); !posted.ok()) return posted;
  said_ += says != nullptr ? 1 : 0;
  return absl::OkStatus();
}

absl::Status RingWriter::Say(const wire::Control& control, const Posting& posting) {
  const fabric::Segment line = Stage(control);
  fabric::SendRequest request;
  Fill(request, posting.rings, ring_.size, line, number_);
  if (absl::Status posted = Submit({&request, 1}, posting); !posted.ok()) return posted;
  ++said_;
  return absl::OkStatus();
}

absl::Status RingWriter::Ring() {
  fabric::SendRequest notification;
  Fill(notification, /*rings=*/true, /*offset=*/0, {}, number_);
  notification.local = {};
  return Submit({&notification, 1}, {.immediate = wire::kNotify});
}

}  // namespace skein::channel
