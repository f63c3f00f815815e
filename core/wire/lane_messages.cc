#include "core/wire/lane_messages.h"

#include "core/wire/bytes.h"

namespace skein::wire {
namespace {

// The rest.
bool TakeQueuePair(FieldReader& reader, std::string& queue_pair) {
  const auto size = reader.Take<uint16_t>();
  if (size > kMaxQueuePairBytes) return false;
  queue_pair = std::string(reader.TakeBytes(size));
  return reader.done();
}

void PutQueuePair(std::string& out, const std::string& queue_pair) {
  Put(out, static_cast<uint16_t>(queue_pair.size()));
  out += queue_pair;
}

}  // namespace

std::string Encode(const OpenLane& message) {
  std::string out;
  Put(out, message.lane);
  PutQueuePair(out, message.queue_pair);
  return out;
}

std::string Encode(const GivenLane& message) {
  std::string out;
  Put(out, message.lane);
  out += EncodeRingDescriptor(message.ring);
  PutQueuePair(out, message.queue_pair);
  return out;
}

absl::StatusOr<OpenLane> DecodeOpenLane(absl::string_view bytes) {
  FieldReader reader(bytes);
  OpenLane message;
  message.lane = reader.Take<uint16_t>();
  if (!TakeQueuePair(reader, message.queue_pair)) return absl::DataLossError("a malformed request for a lane");
  return message;
}

absl::StatusOr<GivenLane> DecodeGivenLane(absl::string_view bytes) {
  FieldReader reader(bytes);
  GivenLane message;
  message.lane = reader.Take<uint16_t>();
  const absl::StatusOr<RingDescriptor> ring = DecodeRingDescriptor(reader.TakeBytes(kRingDescriptorBytes));
  if (!ring.ok()) return ring.status();
  message.ring = *ring;
  if (!TakeQueuePair(reader, message.queue_pair)) return absl::DataLossError("a malformed lane");
  return message;
}

}  // namespace skein::wire
