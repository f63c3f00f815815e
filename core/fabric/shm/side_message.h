// What goes over the socket between two queue pairs. All of it is the peer's word until checked.
#ifndef SKEIN_CORE_FABRIC_SHM_SIDE_MESSAGE_H_
#define SKEIN_CORE_FABRIC_SHM_SIDE_MESSAGE_H_

#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace skein::fabric::shm {

enum class SideMessageKind : uint32_t {
  kDoorbell = 1,  // look at the mailbox: the doorbell of those who have none of the peer's
  kWant = 2,      // "I was told of this rkey and address: let me have the memory there"
  kGrant = 3,     // yes, with the region's memfd
  kRefuse = 4,    // no such region (any more)
  kRingHere = 5,  // with a pipe: the sender's doorbell. One at most
};

struct SideMessage {
  SideMessageKind kind = SideMessageKind::kDoorbell;
  uint32_t rkey = 0;
  uint32_t access = 0;  // kGrant
  uint32_t reserved = 0;
  uint64_t base = 0;     // kWant: an address in the region; kGrant: the region's first
  uint64_t size = 0;     // kGrant: of the region, bytes
  uint64_t address = 0;  // kGrant: where it is in the granter's memory; 0 when the memfd itself holds the bytes

  absl::string_view view() const { return {reinterpret_cast<const char*>(this), sizeof(*this)}; }
  static bool Parse(absl::string_view bytes, SideMessage& out) {
    if (bytes.size() != sizeof(out)) return false;
    std::memcpy(&out, bytes.data(), sizeof(out));
    return true;
  }
};

}  // namespace skein::fabric::shm

#endif  // SKEIN_CORE_FABRIC_SHM_SIDE_MESSAGE_H_
