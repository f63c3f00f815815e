// Any bytes are exactly the encoding of a possible ring, or an error.
#include "core/wire/ring_descriptor.h"

#include "tests/fuzz/fuzz_target.h"
#include "tests/support/wire_samples.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  wire::RingDescriptor last = wire::SampleRing();
  last.size = wire::kMaxRingBytes;
  last.address = (UINT64_MAX - last.size) & ~uint64_t{63};
  return {wire::EncodeRingDescriptor(wire::SampleRing()), wire::EncodeRingDescriptor(last)};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fuzz::Require;
  const absl::string_view bytes = skein::fuzz::Text(data, size);
  const absl::StatusOr<skein::wire::RingDescriptor> ring = skein::wire::DecodeRingDescriptor(bytes);
  if (!ring.ok()) {
    Require(absl::IsDataLoss(ring.status()), "DATA_LOSS");
    return 0;
  }
  Require(skein::wire::EncodeRingDescriptor(*ring) == bytes, "nothing is lost");
  Require(ring->size >= skein::wire::kRingGranule && ring->size <= skein::wire::kMaxRingBytes, "a ring's size");
  Require(ring->address + ring->size > ring->address, "a ring's address");
  return 0;
}
