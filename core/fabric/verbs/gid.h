// The addresses of RDMA ports: which there are, and which of them belongs to an IP address of this host.
#ifndef SKEIN_CORE_FABRIC_VERBS_GID_H_
#define SKEIN_CORE_FABRIC_VERBS_GID_H_

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace skein::fabric::verbs {

using Gid = std::array<uint8_t, 16>;

enum class GidType : uint8_t { kInfiniband, kRoceV1, kRoceV2 };
absl::string_view GidTypeName(GidType type);

// One entry of a port's table.
struct GidEntry {
  std::string device;  // "mlx5_0"
  uint8_t port = 1;
  uint32_t index = 0;
  Gid gid = {};
  GidType type = GidType::kInfiniband;
  uint32_t netdev = 0;  // interface index; 0 where there is none
  bool port_active = false;
};

// Every entry of every port of every device that this process may open. In a container these are the entries whose
// network device is in its namespace. UNAVAILABLE when RDMA is off, NOT_FOUND when there is no device; both say why.
absl::StatusOr<std::vector<GidEntry>> ListGids();

// The GID that IPv4 addresses have on RoCE (IPv4-mapped), or the IPv6 address itself.
absl::StatusOr<Gid> GidOf(const sockaddr_storage& address);

// Of the entries of active ports: those that carry `local`, the address by which this host reaches the peer; RoCE v2
// before v1. On InfiniBand an IP address is not a GID, but its interface is the port's. NOT_FOUND says what there is.
absl::StatusOr<GidEntry> ChooseGid(const std::vector<GidEntry>& entries, const sockaddr_storage& local);
// Without an address to go by: of active ports, routable addresses first.
absl::StatusOr<GidEntry> DefaultGid(const std::vector<GidEntry>& entries);

std::string ToString(const Gid& gid);  // as an IPv6 address

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_GID_H_
