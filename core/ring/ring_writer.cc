#include "core/ring/ring_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace skein::ring {
namespace {

constexpr uint32_t kSignalEvery = 16;

}  // namespace

RingWriter::RingWriter(const fabric::DeviceCapabilities& capabilities, fabric::QueuePair& queue_pair,
                       const wire::RingDescriptor& ring)
    : queue_pair_(queue_pair),
      ring_(ring),
      canaries_(ring.secret),
      // A quarter, so that a reader that reports every quarter never keeps the writer waiting for nothing.
      max_message_bytes_(static_cast<size_t>(std::min(ring.size / 4, capabilities.good_message_bytes))) {}

absl::StatusOr<std::unique_ptr<RingWriter>> RingWriter::Create(fabric::Device& device, fabric::QueuePair& queue_pair,
                                                               const wire::RingDescriptor& ring,
                                                               uint64_t max_mirror_bytes) {
  const fabric::DeviceCapabilities capabilities = device.capabilities();
  std::unique_ptr<RingWriter> writer(new RingWriter(capabilities, queue_pair, ring));
  if (capabilities.copies_on_post) {
    // Reserved once: `segments_` points into it.
    writer->scratch_.reserve(writer->max_message_bytes_);
    return writer;
  }
  if (ring.size > max_mirror_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the peer's ring of ", ring.size,
                                                     " bytes needs a mirror here, and skein.rdma_peer_memory allows ",
                                                     max_mirror_bytes));
  }
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> mirror = device.Allocate(ring.size, fabric::kLocalOnly);
  if (!mirror.ok()) return mirror.status();
  writer->mirror_ = *std::move(mirror);
  return writer;
}

size_t RingWriter::Free(Reserve reserve) const {
  const size_t kept = static_cast<size_t>(reserve);
  const size_t free = ring_.size - (tail_ - peer_head_);
  return free > kept ? free - kept : 0;
}

size_t RingWriter::Room(Reserve reserve) const {
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

void RingWriter::Append(const void* data, size_t size) {
  if (mirror_ != nullptr) {
    std::memcpy(at_, data, size);
    at_ += size;
    return;
  }
  const size_t before = scratch_.size();
  scratch_.resize(before + size);
  std::byte* to = scratch_.data() + before;
  std::memcpy(to, data, size);
  if (!segments_.empty() && segments_.back().data + segments_.back().size == to) {
    segments_.back().size += size;
  } else {
    segments_.push_back({to, size, 0});
  }
}

void RingWriter::AppendPayload(absl::Span<const std::byte> bytes) {
  constexpr size_t kWorthASegment = 256;
  if (mirror_ != nullptr || bytes.size() < kWorthASegment) return Append(bytes.data(), bytes.size());
  // The fabric only reads sources of WRITEs.
  segments_.push_back({const_cast<std::byte*>(bytes.data()), bytes.size(), 0});
}

void RingWriter::Encode(absl::Span<OutItem> items, uint64_t head, size_t message_bytes, uint64_t number) {
  static constexpr std::byte kZeros[wire::kMessageUnit] = {};
  wire::MessageHeader header;
  header.length_and_canary = canaries_.HeadWord(number, message_bytes);
  header.items = static_cast<uint32_t>(items.size());
  header.head = head;
  Append(&header, sizeof(header));
  size_t used = sizeof(header);
  for (OutItem& item : items) {
    size_t size = 0;
    for (absl::Span<const std::byte> part : item.payload) size += part.size();
    item.header.size = static_cast<uint32_t>(size);
    Append(&item.header, sizeof(item.header));
    for (absl::Span<const std::byte> part : item.payload) {
      if (!part.empty()) AppendPayload(part);
    }
    Append(kZeros, wire::PaddedPayload(size) - size);
    used += wire::ItemBytes(size);
  }
  Append(kZeros, message_bytes - used - sizeof(uint64_t));
  const uint64_t tail = canaries_.Tail(number);
  Append(&tail, sizeof(tail));
}

fabric::SendRequest RingWriter::Request(uint64_t position) const {
  fabric::SendRequest request;
  request.opcode = fabric::Opcode::kWriteWithImmediate;
  request.remote = {ring_.address + position % ring_.size, ring_.rkey};
  request.signaled = unsignaled_ + 1 >= kSignalEvery;
  return request;
}

absl::Status RingWriter::Write(absl::Span<OutItem> items, uint64_t head, Reserve reserve, bool signaled) {
  size_t item_bytes = 0;
  for (const OutItem& item : items) {
    size_t size = 0;
    for (absl::Span<const std::byte> part : item.payload) size += part.size();
    item_bytes += wire::ItemBytes(size);
  }
  const size_t bytes = wire::MessageBytes(item_bytes);
  const bool wrap = bytes > ToEnd();
  const uint64_t position = wrap ? tail_ + ToEnd() : tail_;
  if (item_bytes > Room(reserve) || position + bytes - tail_ > Free(reserve)) {
    return absl::ResourceExhaustedError("the peer's ring is full");
  }
  scratch_.clear();
  segments_.clear();
  wire::MessageHeader marker;
  fabric::Segment marker_segment;
  std::byte marker_bytes[wire::kMessageUnit] = {};
  uint64_t number = number_;
  if (wrap) {
    marker.length_and_canary = canaries_.HeadWord(number, sizeof(marker_bytes));
    marker.flags = wire::kWrap;
    marker.head = head;
    std::memcpy(marker_bytes, &marker, sizeof(marker));
    const uint64_t tail = canaries_.Tail(number++);
    std::memcpy(marker_bytes + sizeof(marker_bytes) - sizeof(tail), &tail, sizeof(tail));
    marker_segment = {marker_bytes, sizeof(marker_bytes), 0};
    if (mirror_ != nullptr) {
      marker_segment = {mirror_->bytes().data() + tail_ % ring_.size, sizeof(marker_bytes), mirror_->lkey()};
      std::memcpy(marker_segment.data, marker_bytes, sizeof(marker_bytes));
    }
  }
  if (mirror_ != nullptr) {
    at_ = mirror_->bytes().data() + position % ring_.size;
    segments_.push_back({at_, bytes, mirror_->lkey()});
  }
  Encode(items, head, bytes, number++);

  fabric::SendRequest batch[2] = {Request(tail_), Request(position)};
  batch[0].opcode = fabric::Opcode::kWrite;
  batch[0].signaled = false;
  batch[0].local = {&marker_segment, 1};
  batch[1].local = segments_;
  batch[1].id = number;
  batch[1].signaled |= signaled;
  absl::Status posted = queue_pair_.PostSend(wrap ? absl::MakeSpan(batch) : absl::MakeSpan(batch).subspan(1));
  if (!posted.ok()) return posted;
  unsignaled_ = batch[1].signaled ? 0 : unsignaled_ + 1 + (wrap ? 1 : 0);
  tail_ = position + bytes;
  number_ = number;
  return absl::OkStatus();
}

}  // namespace skein::ring
