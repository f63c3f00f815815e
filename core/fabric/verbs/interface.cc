#include "core/fabric/verbs/interface.h"

#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <netinet/in.h>

#include <cstddef>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/string_view.h"
#include "core/fabric/verbs/gid.h"

namespace skein::fabric::verbs {
namespace {

bool Is(const sockaddr* candidate, const Gid& wanted) {
  if (candidate == nullptr || (candidate->sa_family != AF_INET && candidate->sa_family != AF_INET6)) return false;
  sockaddr_storage address = {};
  std::memcpy(&address, candidate, candidate->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  const absl::StatusOr<Gid> gid = GidOf(address);
  return gid.ok() && *gid == wanted;
}

// "eth0" of "eth0:1", which is how further IPv4 addresses may be labelled.
absl::string_view InterfaceOf(const ifaddrs& entry) {
  const absl::string_view label = entry.ifa_name;
  return label.substr(0, label.find(':'));
}

}  // namespace

std::string HardwareAddressOf(const sockaddr_storage& address) {
  const absl::StatusOr<Gid> wanted = GidOf(address);
  ifaddrs* list = nullptr;
  if (!wanted.ok() || getifaddrs(&list) != 0) return "";
  const absl::Cleanup free_list = [&] { freeifaddrs(list); };
  const ifaddrs* found = list;
  while (found != nullptr && !Is(found->ifa_addr, *wanted)) found = found->ifa_next;
  if (found == nullptr) return "";
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_PACKET) continue;
    if (entry->ifa_name != InterfaceOf(*found)) continue;
    // The C library gives it space for InfiniBand's 20 bytes, which the struct's own 8 are not.
    const auto* bytes = reinterpret_cast<const char*>(entry->ifa_addr);
    const auto* packet = reinterpret_cast<const sockaddr_ll*>(entry->ifa_addr);
    return std::string(bytes + offsetof(sockaddr_ll, sll_addr), packet->sll_halen);
  }
  return "";
}

}  // namespace skein::fabric::verbs
