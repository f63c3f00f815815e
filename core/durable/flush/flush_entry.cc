#include "core/durable/flush/flush_entry.h"

#include <cstring>

#include "core/durable/flush/fast_checksum.h"
#include "core/durable/log/checksum.h"
#include "core/durable/log/entry.h"

namespace skein::durable {
namespace {

// So that in a WRITE the header is aligned, and its last word with it.
constexpr size_t Padded(size_t payload) { return (payload + 7) / 8 * 8; }

uint64_t OperatorWord(const FlushHeader& header, absl::string_view payload) {
  const absl::string_view vouched = BytesOf(header).substr(0, offsetof(FlushHeader, operator_word));
  return header.sequence << 32 | FastChecksum(vouched, payload);
}

}  // namespace

absl::Span<std::byte> MakeFlushEntry(absl::Span<std::byte> slot, HeaderPlace place, const RingKey& key,
                                     const ClientId& client, uint64_t sequence, uint64_t settled,
                                     absl::string_view payload) {
  FlushHeader header;
  header.stamp = Stamp(key.identity, sequence);
  header.sequence = sequence;
  header.settled = settled;
  header.client = client;
  header.size = static_cast<uint32_t>(payload.size());
  header.epoch = key.epoch;
  header.operator_word = OperatorWord(header, payload);
  const size_t padded = Padded(payload.size());
  const bool first = place == HeaderPlace::kFirst;
  const absl::Span<std::byte> taken =
      first ? slot.subspan(0, sizeof(header) + payload.size()) : slot.subspan(slot.size() - sizeof(header) - padded);
  std::byte* const data = first ? taken.data() + sizeof(header) : taken.data();
  if (!payload.empty()) std::memcpy(data, payload.data(), payload.size());
  if (!first) std::memset(data + payload.size(), 0, padded - payload.size());
  std::memcpy(first ? taken.data() : data + padded, &header, sizeof(header));
  return taken;
}

std::optional<FlushEntry> TakeFlushEntry(absl::Span<const std::byte> slot, HeaderPlace place, const RingKey& key,
                                         uint64_t sequence) {
  FlushHeader header;
  const bool first = place == HeaderPlace::kFirst;
  const size_t header_at = first ? 0 : slot.size() - sizeof(header);
  std::memcpy(&header, slot.data() + header_at, sizeof(header));
  if (header.sequence != sequence || header.stamp != Stamp(key.identity, sequence)) return std::nullopt;
  if (header.size > slot.size() - sizeof(header)) return std::nullopt;
  if (key.epoch != 0 && header.epoch != key.epoch) return std::nullopt;
  FlushEntry entry{.sequence = sequence,
                   .settled = header.settled,
                   .client = header.client,
                   .epoch = header.epoch,
                   .payload = std::string(reinterpret_cast<const char*>(slot.data()) +
                                              (first ? sizeof(header) : header_at - Padded(header.size)),
                                          header.size)};
  if (header.operator_word != OperatorWord(header, entry.payload)) return std::nullopt;
  return entry;
}

}  // namespace skein::durable
