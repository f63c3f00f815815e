#include "thrift_transport/message_type.h"

#include <thrift/protocol/TEnum.h>

#include <cstddef>
#include <cstdint>

namespace skein::thrift_transport {
namespace {

constexpr char kOneway = apache::thrift::protocol::T_ONEWAY;

uint8_t At(absl::string_view bytes, size_t index) { return static_cast<uint8_t>(bytes[index]); }

uint32_t BigEndian(absl::string_view bytes) {
  return uint32_t{At(bytes, 0)} << 24 | uint32_t{At(bytes, 1)} << 16 | uint32_t{At(bytes, 2)} << 8 | At(bytes, 3);
}

// [1,"name",4,...
bool IsOnewayJson(absl::string_view message) {
  const size_t end = message.find("\",");
  return end != absl::string_view::npos && message.substr(end + 2).substr(0, 2) == "4,";
}

// Without a version: the name's length, the name, the type.
bool IsOnewayOld(absl::string_view message) {
  const size_t type = sizeof(uint32_t) + BigEndian(message);
  return type < message.size() && message[type] == kOneway;
}

}  // namespace

bool IsOneway(absl::string_view message) {
  if (message.size() < sizeof(uint32_t)) return false;
  switch (At(message, 0)) {
    case 0x80:
      return message[3] == kOneway;
    case 0x82:
      return At(message, 1) >> 5 == kOneway;
    case '[':
      return IsOnewayJson(message);
    default:
      return At(message, 0) < 0x80 && IsOnewayOld(message);
  }
}

}  // namespace skein::thrift_transport
