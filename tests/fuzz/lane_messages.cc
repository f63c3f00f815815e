// Any bytes are exactly the encoding of a word about a lane, or an error.
#include "core/wire/lane_messages.h"

#include "tests/fuzz/fuzz_target.h"
#include "tests/support/wire_samples.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  return {wire::Encode(wire::OpenLane{3, "offer"}), wire::Encode(wire::GivenLane{3, wire::SampleRing(), "answer"})};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fuzz::Require;
  const absl::string_view bytes = skein::fuzz::Text(data, size);
  const absl::StatusOr<skein::wire::OpenLane> open = skein::wire::DecodeOpenLane(bytes);
  if (open.ok()) Require(skein::wire::Encode(*open) == bytes, "nothing of a request is lost");
  const absl::StatusOr<skein::wire::GivenLane> given = skein::wire::DecodeGivenLane(bytes);
  if (given.ok()) Require(skein::wire::Encode(*given) == bytes, "nothing of a lane is lost");
  return 0;
}
