#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/fabric/verbs/context.h"
#include "core/fabric/verbs/device_list.h"
#include "core/fabric/verbs/gid_list.h"
#include "core/fabric/verbs/ibverbs.h"
#include "core/fabric/verbs/port.h"
#include "tools/skein/doctor/checks.h"
#include "tools/skein/doctor/text_file.h"

namespace skein::doctor {
namespace {

using fabric::verbs::Context;
using fabric::verbs::DeviceList;
using fabric::verbs::GidEntry;
using fabric::verbs::Ibverbs;

constexpr absl::string_view kWithout = "without RDMA, connections between hosts use TCP";

// "ib_uverbs", and who uses it: its line in /proc/modules names them in the fourth column.
std::string Modules() {
  std::vector<std::string> found;
  for (absl::string_view line : absl::StrSplit(ReadText("/proc/modules"), '\n')) {
    const std::vector<absl::string_view> columns = absl::StrSplit(line, ' ');
    if (columns.size() < 4 || columns[0] != "ib_uverbs") continue;
    found.emplace_back(columns[0]);
    for (absl::string_view user : absl::StrSplit(columns[3], ',', absl::SkipEmpty())) {
      if (user != "-") found.emplace_back(user);
    }
  }
  return absl::StrJoin(found, ", ");
}

// The files by which programs reach the devices.
void CheckDeviceFiles(const std::vector<std::string>& devices, Report& report) {
  for (const std::string& device : devices) {
    if (!absl::StartsWith(device, "uverbs")) continue;
    const std::string path = absl::StrCat("/dev/infiniband/", device);
    if (access(path.c_str(), R_OK | W_OK) == 0) continue;
    const bool missing = errno == ENOENT;
    report.Warn(absl::StrCat(path, missing ? " is missing" : " may not be opened by this user"),
                missing
                    ? "in a container: --device /dev/infiniband, or the RDMA device plugin of the cluster; else udev "
                      "makes it"
                    : "allow this user to read and write it (rdma-core's udev rules allow everybody)");
  }
}

void CheckKernel(Report& report) {
  const std::string modules = Modules();
  const std::vector<std::string> devices = NamesIn("/sys/class/infiniband_verbs");
  if (!modules.empty()) {
    report.Ok(absl::StrCat("kernel modules of RDMA: ", modules));
  } else if (!devices.empty()) {
    report.Ok("kernel modules of RDMA: built in");
  } else {
    return report.Warn(
        "kernel modules of RDMA: ib_uverbs is not loaded",
        "for RDMA: modprobe ib_uverbs and the port's driver (mlx5_ib, irdma, rdma_rxe), on a container's "
        "host");
  }
  CheckDeviceFiles(devices, report);
}

// "libibverbs.so.1.14.44.0": the file that was loaded, its version in its name.
std::string LibraryFile(const Ibverbs& lib) {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void*>(lib.get_device_list), &info) == 0) return "libibverbs";
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::string(info.dli_fname) : file.filename().string();
}

// FLUSH is what durable connections flush by, where a port's driver posts it as well.
std::string FlushOf(const Context& context, const std::vector<GidEntry>& gids) {
  const fabric::verbs::FlushTypes device = fabric::verbs::FlushesOf(context);
  if (!device.any()) return "no FLUSH";
  const absl::string_view to = device.persistent ? "FLUSH to persistent memory" : "FLUSH to visibility";
  for (const GidEntry& entry : gids) {
    if (entry.device != context.name()) continue;
    const absl::StatusOr<fabric::verbs::Port> port = fabric::verbs::OpenPort(entry, {});
    if (port.ok()) return absl::StrCat(to, port->flush.any() ? "" : ", which its driver in rdma-core does not post");
  }
  return std::string(to);
}

// Asked through the device's table: the library need not have it.
std::string Extensions(const Context& context, const std::vector<GidEntry>& gids) {
  ibv_device_attr_ex attributes = {};
  const bool told = fabric::verbs::QueryExtended(context, attributes);
  const bool paging = told && (attributes.odp_caps.general_caps & IBV_ODP_SUPPORT) != 0;
  return absl::StrCat(paging ? "on-demand paging (which Skein does not use), " : "no on-demand paging, ",
                      FlushOf(context, gids));
}

absl::string_view StateName(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_DOWN:
      return "down";
    case IBV_PORT_INIT:
      return "initializing";
    case IBV_PORT_ARMED:
      return "armed";
    case IBV_PORT_ACTIVE:
      return "active";
    default:
      return "in no known state";
  }
}

std::string Describe(const GidEntry& entry) {
  return absl::StrCat("GID ", entry.index, ": ", fabric::verbs::ToString(entry.gid), ", ",
                      fabric::verbs::GidTypeName(entry.type), entry.netdev.empty() ? "" : ", ", entry.netdev);
}

void CheckPort(const Context& context, uint8_t number, const std::vector<GidEntry>& gids, Report& report) {
  const std::string port = absl::StrCat(context.name(), "/", static_cast<int>(number));
  const absl::StatusOr<ibv_port_attr> attributes = context.QueryPort(number);
  if (!attributes.ok()) return report.Warn(absl::StrCat(port, ": ", attributes.status().message()));
  const bool ethernet = attributes->link_layer == IBV_LINK_LAYER_ETHERNET;
  const std::string fact = absl::StrCat(port, ": ", StateName(attributes->state), ", ",
                                        ethernet ? "Ethernet" : "InfiniBand", ", MTU ", 128 << attributes->active_mtu);
  if (attributes->state != IBV_PORT_ACTIVE) {
    return report.Warn(fact, ethernet ? "bring up its network device: ip link set DEVICE up"
                                      : "look at its cable, and for a subnet manager (opensm)");
  }
  report.Ok(fact);
  bool found = false;
  for (const GidEntry& entry : gids) {
    if (entry.device != context.name() || entry.port != number) continue;
    report.Ok(absl::StrCat(port, " ", Describe(entry)));
    found = true;
  }
  if (found) return;
  report.Warn(absl::StrCat(port, ": no GID is visible here"),
              "give its network device an address; in a container that device must be in its network namespace");
}

void CheckDevice(const DeviceList& list, ibv_device* device, const std::vector<GidEntry>& gids, Report& report) {
  const absl::string_view name = list.NameOf(device);
  const absl::StatusOr<std::shared_ptr<Context>> context = Context::Open(list, device);
  if (!context.ok()) return report.Warn(absl::StrCat(name, ": ", context.status().message()));
  const ibv_device_attr& attributes = (*context)->attributes();
  report.Ok(absl::StrCat(name, ": firmware ", attributes.fw_ver[0] == '\0' ? "unknown" : attributes.fw_ver, ", ",
                         attributes.max_qp, " queue pairs, ", Extensions(**context, gids)));
  for (int port = 1; port <= attributes.phys_port_cnt; ++port) {
    CheckPort(**context, static_cast<uint8_t>(port), gids, report);
  }
}

}  // namespace

void CheckRdma(const RdmaOptions& options, Report& report) {
  if (!options.enabled) report.Warn("RDMA is switched off", "unset SKEIN_RDMA");
  CheckKernel(report);
  const absl::StatusOr<const Ibverbs*> lib = fabric::verbs::LoadIbverbs();
  if (!lib.ok()) return report.Warn(lib.status().message(), kWithout);
  report.Ok(absl::StrCat("RDMA library: ", LibraryFile(**lib)));
  const absl::StatusOr<DeviceList> list = DeviceList::Get();
  if (!list.ok()) return report.Warn(absl::StrCat("no RDMA device: ", list.status().message()), kWithout);
  if (list->devices().empty()) return report.Warn("no RDMA device", kWithout);
  const std::vector<GidEntry> gids = fabric::verbs::ListGids().value_or(std::vector<GidEntry>());
  for (ibv_device* device : list->devices()) CheckDevice(*list, device, gids, report);
}

}  // namespace skein::doctor
