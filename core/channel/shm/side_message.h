// What goes over the socket between the two ends of a channel. All of it is the peer's word until checked.
#ifndef SKEIN_CORE_CHANNEL_SHM_SIDE_MESSAGE_H_
#define SKEIN_CORE_CHANNEL_SHM_SIDE_MESSAGE_H_

#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace skein::channel::shm {

enum class SideMessageKind : uint32_t {
  kWakeUp = 1,    // look at the memory: the notification of those who have no pipe of the peer's
  kGrant = 3,     // with a memfd: memory that the peer may use by itself (region.h)
  kPassPipe = 5,  // with a pipe: the sender's notification. One at most
};

struct SideMessage {
  SideMessageKind kind = SideMessageKind::kWakeUp;
  uint32_t rkey = 0;    // kGrant: by what the peer names the memory
  uint32_t access = 0;  // kGrant: fabric::Access
  uint32_t reserved = 0;
  uint64_t base = 0;  // kGrant: the address of the first byte, in the owner's numbering
  uint64_t size = 0;  // kGrant: bytes
  uint64_t unused = 0;

  absl::string_view view() const { return {reinterpret_cast<const char*>(this), sizeof(*this)}; }
  static bool Parse(absl::string_view bytes, SideMessage& out) {
    if (bytes.size() != sizeof(out)) return false;
    std::memcpy(&out, bytes.data(), sizeof(out));
    return true;
  }
};

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_SIDE_MESSAGE_H_
