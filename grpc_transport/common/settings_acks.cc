#include "grpc_transport/common/settings_acks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/wire/big_endian.h"

namespace skein::grpc_transport {
namespace {

constexpr size_t kFrameHeader = 9;
constexpr char kSettingsFrame = 4;
constexpr char kAck = 1;

size_t PayloadOf(absl::string_view header) { return wire::BigEndian(header.substr(0, 3)); }

bool IsSettingsAck(absl::string_view header) {
  return PayloadOf(header) == 0 && header[3] == kSettingsFrame && (header[4] & kAck) != 0;
}

}  // namespace

std::string SettingsAcks::Pass(absl::string_view bytes) {
  std::string passed;
  while (!bytes.empty()) {
    if (payload_left_ > 0) {
      const size_t part = std::min(payload_left_, bytes.size());
      absl::StrAppend(&passed, bytes.substr(0, part));
      bytes.remove_prefix(part);
      payload_left_ -= part;
      continue;
    }
    if (left_ == 0) {
      absl::StrAppend(&passed, bytes);
      break;
    }
    const size_t part = std::min(kFrameHeader - header_.size(), bytes.size());
    absl::StrAppend(&header_, bytes.substr(0, part));
    bytes.remove_prefix(part);
    if (header_.size() < kFrameHeader) break;
    if (IsSettingsAck(header_)) {
      --left_;
    } else {
      passed += header_;
      payload_left_ = PayloadOf(header_);
    }
    header_.clear();
  }
  return passed;
}

}  // namespace skein::grpc_transport
