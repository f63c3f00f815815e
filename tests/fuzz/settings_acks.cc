// What a server without Skein sends, from which acknowledgements are taken. The first byte says of how many frames.
#include "grpc_transport/common/settings_acks.h"

#include <algorithm>

#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {
namespace {

using grpc_transport::SettingsAcks;

std::string PassInPieces(absl::string_view bytes, int frames, size_t piece) {
  SettingsAcks acks(frames);
  std::string passed;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    passed += acks.Pass(bytes.substr(0, piece));
  return passed;
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string settings("\0\0\6\4\0\0\0\0\0\0\3\0\0\0\x64", 15);
  const std::string ack("\0\0\0\4\1\0\0\0\0", 9);
  const std::string data("\0\0\x9\0\1\0\0\0\1\0\0\0\4\1\0\0\0\0", 18);
  return {"\2" + settings + ack + data + ack + ack, "\1" + ack, std::string("\0", 1) + ack + settings};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const int frames = data[0] % 6;
  const absl::string_view bytes = skein::fuzz::Text(data + 1, size - 1);
  skein::grpc_transport::SettingsAcks acks(frames);
  const std::string passed = acks.Pass(bytes);
  constexpr size_t kFrameHeader = 9;
  skein::fuzz::Require(passed.size() + kFrameHeader * (frames + 1) > bytes.size(),
                       "only acknowledgements are left out");
  if (frames == 0) skein::fuzz::Require(passed == bytes && acks.done(), "of none, nothing is left out");
  for (const size_t piece : {1, 2, 9, 13}) {
    skein::fuzz::Require(skein::fuzz::PassInPieces(bytes, frames, piece) == passed, "pieces make no difference");
  }
  return 0;
}
