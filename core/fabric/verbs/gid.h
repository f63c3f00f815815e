// The addresses of RDMA ports: which of them belongs to an IP address of this host.
#ifndef SKEIN_CORE_FABRIC_VERBS_GID_H_
#define SKEIN_CORE_FABRIC_VERBS_GID_H_

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/fabric/verbs/interface.h"

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
  std::string netdev;  // "eth0"; empty where there is none, as on InfiniBand
  bool port_active = false;
};

// The GID that IPv4 addresses have on RoCE (IPv4-mapped), or the IPv6 address itself.
absl::StatusOr<Gid> GidOf(const sockaddr_storage& address);

// Of the entries of active ports: those that carry `local`, the address by which this host reaches the peer; RoCE v2
// before v1. On InfiniBand an IP address is not a GID, but that of its interface (IPoIB) has the port's GID in it.
// NOT_FOUND says what there is.
absl::StatusOr<GidEntry> ChooseGid(
    const std::vector<GidEntry>& entries, const sockaddr_storage& local,
    absl::FunctionRef<std::string(const sockaddr_storage&)> hardware_address_of = HardwareAddressOf);
// Without an address to go by: of active ports, routable addresses first.
absl::StatusOr<GidEntry> DefaultGid(const std::vector<GidEntry>& entries);

std::string ToString(const Gid& gid);   // as an IPv6 address
std::string IpAddress(const Gid& gid);  // the same, but of an IPv4 address that one

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_GID_H_
