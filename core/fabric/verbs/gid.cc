#include "core/fabric/verbs/gid.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/errno_status.h"
#include "core/fabric/verbs/context.h"

namespace skein::fabric::verbs {
namespace {

// More than devices have (mlx5: 256 per port), and no more than the kernel takes in one call (64 KiB).
constexpr size_t kMaxEntries = 1024;

absl::Status AppendGids(const Context& context, std::vector<GidEntry>& entries) {
  std::vector<ibv_gid_entry> table(kMaxEntries);
  const ssize_t count = context.lib().query_gid_table(context.get(), table.data(), table.size(), 0, sizeof(table[0]));
  if (count < 0) return ErrnoStatus(static_cast<int>(-count), absl::StrCat("list the GIDs of ", context.name()));
  for (ssize_t i = 0; i < count; ++i) {
    if (table[i].gid_index > std::numeric_limits<uint8_t>::max()) continue;  // what a route can name
    GidEntry entry;
    entry.device = context.name();
    entry.port = static_cast<uint8_t>(table[i].port_num);
    entry.index = table[i].gid_index;
    std::memcpy(entry.gid.data(), table[i].gid.raw, entry.gid.size());
    entry.type = static_cast<GidType>(table[i].gid_type);  // the same numbers
    entry.netdev = table[i].ndev_ifindex;
    const absl::StatusOr<ibv_port_attr> port = context.QueryPort(entry.port);
    entry.port_active = port.ok() && port->state == IBV_PORT_ACTIVE;
    entries.push_back(std::move(entry));
  }
  return absl::OkStatus();
}

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

// The interface that has the address; 0 if none.
uint32_t InterfaceOf(const sockaddr_storage& address) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return 0;
  const absl::Cleanup free_list = [&] { freeifaddrs(list); };
  const absl::StatusOr<Gid> wanted = GidOf(address);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    sockaddr_storage candidate = {};
    const bool v4 = entry->ifa_addr->sa_family == AF_INET;
    if (!v4 && entry->ifa_addr->sa_family != AF_INET6) continue;
    std::memcpy(&candidate, entry->ifa_addr, v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    const absl::StatusOr<Gid> gid = GidOf(candidate);
    if (gid.ok() && wanted.ok() && *gid == *wanted) return if_nametoindex(entry->ifa_name);
  }
  return 0;
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

absl::StatusOr<std::vector<GidEntry>> ListGids() {
  const absl::StatusOr<DeviceList> list = DeviceList::Get();
  if (!list.ok()) return list.status();
  std::vector<GidEntry> entries;
  absl::Status refused;
  for (ibv_device* device : list->devices()) {
    const absl::StatusOr<std::shared_ptr<Context>> context = Context::Open(*list, device);
    const absl::Status listed = context.ok() ? AppendGids(**context, entries) : context.status();
    if (!listed.ok()) refused = listed;
  }
  if (!entries.empty()) return entries;
  if (!refused.ok()) return refused;
  return absl::NotFoundError("this host has no RDMA device");
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
  return absl::InvalidArgumentError("not an IP address");
}

absl::StatusOr<GidEntry> ChooseGid(const std::vector<GidEntry>& entries, const sockaddr_storage& local) {
  const absl::StatusOr<Gid> gid = GidOf(local);
  if (!gid.ok()) return gid.status();
  std::vector<GidEntry> fitting;
  std::copy_if(entries.begin(), entries.end(), std::back_inserter(fitting),
               [&](const GidEntry& entry) { return entry.gid == *gid; });
  if (fitting.empty()) {
    const uint32_t interface = InterfaceOf(local);
    std::copy_if(entries.begin(), entries.end(), std::back_inserter(fitting), [&](const GidEntry& entry) {
      return interface != 0 && entry.netdev == interface && entry.type == GidType::kInfiniband;
    });
  }
  return Best(std::move(fitting), absl::StrCat("has the address ", ToString(*gid)), entries);
}

absl::StatusOr<GidEntry> DefaultGid(const std::vector<GidEntry>& entries) { return Best(entries, "is up", entries); }

std::string ToString(const Gid& gid) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, gid.data(), text, sizeof(text));
  return text;
}

}  // namespace skein::fabric::verbs
