// Any bytes are a frame of a group's, whose fields are within their bounds, or DATA_LOSS.
#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "core/replicate/frame.h"
#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  using namespace skein::replicate;
  return {Encode(Hello{7, 12, 3, ScheduleKind::kChain}), Encode(Begin{1, 100'000, 4096}), Encode(Block{1, 3}),
          Encode(Have{1, 4}), EncodeFailure(2, absl::AbortedError("tired"))};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fuzz::Require;
  using namespace skein::replicate;
  const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const absl::StatusOr<Frame> frame = Decode(bytes.first(std::min(size, kFrameBytes)));
  if (!frame.ok()) {
    Require(absl::IsDataLoss(frame.status()), "what is no frame is data loss");
    return 0;
  }
  if (const auto* begin = std::get_if<Begin>(&*frame)) {
    Require(begin->blocks() >= 1 && begin->blocks() <= kMaxBlocks, "there are as many blocks as may be");
    const uint32_t last = begin->blocks() - 1;
    Require(begin->OffsetOf(last) + begin->SizeOf(last) == begin->bytes, "blocks cover the whole");
  }
  if (const auto* failure = std::get_if<Failure>(&*frame)) {
    const absl::Status status = StatusOf(*failure, std::string(failure->text_bytes, '\n'));
    Require(!status.ok() && status.message().size() <= kMaxFailureText, "a failure is one");
  }
  return 0;
}
