#include "core/fabric/verbs/gid.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"

namespace skein::fabric::verbs {
namespace {

bool IsIpv4Mapped(const Gid& gid) {
  static constexpr uint8_t kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(gid.data(), kPrefix, sizeof(kPrefix)) == 0;
}

bool IsLinkLocal(const Gid& gid) { return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80; }

// Lower is better. RoCE v2 is routed and what switches expect; v1 only when there is nothing else.
int Rank(const GidEntry& entry) {
  const int address = IsIpv4Mapped(entry.gid) ? 0 : IsLinkLocal(entry.gid) ? 2 : 1;
  if (entry.type == GidType::kRoceV1) return 10 + address;
  return entry.type == GidType::kInfiniband ? 0 : address;
}

absl::StatusOr<GidEntry> Best(std::vector<GidEntry> fitting, absl::string_view what,
                              const std::vector<GidEntry>& entries) {
  std::erase_if(fitting, [](const GidEntry& entry) { return !entry.port_active; });
  const auto best = std::min_element(fitting.begin(), fitting.end(),
                                     [](const GidEntry& a, const GidEntry& b) { return Rank(a) < Rank(b); });
  if (best != fitting.end()) return *best;
  return absl::NotFoundError(absl::StrCat(
      "no active RDMA port ", what,
      "; there are: ", absl::StrJoin(entries, ", ", [](std::string* out, const GidEntry& entry) {
        absl::StrAppend(out, entry.device, "/", entry.port, entry.port_active ? " " : " (down) ", ToString(entry.gid));
      })));
}

// What an interface of InfiniBand (IPoIB) says of its port: four bytes that are not the port's, then its GID.
absl::optional<Gid> PortGid(absl::string_view hardware_address) {
  Gid gid = {};
  constexpr size_t kBefore = 4;
  if (hardware_address.size() != kBefore + gid.size()) return absl::nullopt;
  std::memcpy(gid.data(), hardware_address.data() + kBefore, gid.size());
  return gid;
}

}  // namespace

absl::string_view GidTypeName(GidType type) {
  switch (type) {
    case GidType::kInfiniband:
      return "InfiniBand";
    case GidType::kRoceV1:
      return "RoCE v1";
    case GidType::kRoceV2:
      return "RoCE v2";
  }
  return "unknown";
}

absl::StatusOr<Gid> GidOf(const sockaddr_storage& address) {
  Gid gid = {};
  if (address.ss_family == AF_INET) {
    gid[10] = gid[11] = 0xff;
    std::memcpy(&gid[12], &reinterpret_cast<const sockaddr_in&>(address).sin_addr, sizeof(in_addr));
    return gid;
  }
  if (address.ss_family == AF_INET6) {
    std::memcpy(gid.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, gid.size());
    return gid;
  }
  return absl::InvalidArgumentError(address.ss_family == AF_UNSPEC ? "the connection has no address"
                                                                   : "not an IP address");
}

absl::StatusOr<GidEntry> ChooseGid(const std::vector<GidEntry>& entries, const sockaddr_storage& local,
                                   absl::FunctionRef<std::string(const sockaddr_storage&)> hardware_address_of) {
  const absl::StatusOr<Gid> gid = GidOf(local);
  if (!gid.ok()) return gid.status();
  std::vector<GidEntry> fitting;
  std::vector<GidEntry> infiniband;
  for (const GidEntry& entry : entries) {
    if (entry.gid == *gid) fitting.push_back(entry);
    if (entry.type == GidType::kInfiniband) infiniband.push_back(entry);
  }
  if (fitting.empty() && !infiniband.empty()) {
    const absl::optional<Gid> port = PortGid(hardware_address_of(local));
    std::copy_if(infiniband.begin(), infiniband.end(), std::back_inserter(fitting),
                 [&](const GidEntry& entry) { return entry.gid == port; });
  }
  return Best(std::move(fitting), absl::StrCat("has the address ", ToString(*gid)), entries);
}

absl::StatusOr<GidEntry> DefaultGid(const std::vector<GidEntry>& entries) { return Best(entries, "is up", entries); }

std::string ToString(const Gid& gid) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, gid.data(), text, sizeof(text));
  return text;
}

std::string IpAddress(const Gid& gid) {
  if (!IsIpv4Mapped(gid)) return ToString(gid);
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, gid.data() + 12, text, sizeof(text));
  return text;
}

}  // namespace skein::fabric::verbs
