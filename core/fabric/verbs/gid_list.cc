#include "core/fabric/verbs/gid_list.h"

#include <net/if.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/fabric/verbs/device_list.h"

namespace skein::fabric::verbs {
namespace {

// More than devices have (mlx5: 256 per port), and no more than the kernel takes in one call (64 KiB).
constexpr size_t kMaxEntries = 1024;

std::string NameOfInterface(uint32_t index) {
  char name[IF_NAMESIZE] = {};
  return index != 0 && if_indextoname(index, name) != nullptr ? name : "";
}

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
    entry.netdev = NameOfInterface(table[i].ndev_ifindex);
    const absl::StatusOr<ibv_port_attr> port = context.QueryPort(entry.port);
    entry.port_active = port.ok() && port->state == IBV_PORT_ACTIVE;
    entries.push_back(std::move(entry));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<GidEntry>> GidList::Read() {
  const absl::Status no_device = absl::NotFoundError("this host has no RDMA device");
  // Without the kernel's part (ib_uverbs) there is none, and to open the library takes as long as half a first call.
  if (access("/sys/class/infiniband_verbs", F_OK) != 0) return no_device;
  std::vector<std::shared_ptr<Context>> listed;
  std::vector<GidEntry> entries;
  const absl::StatusOr<DeviceList> list = DeviceList::Get();
  absl::Status refused = list.status();
  if (list.ok()) {
    for (ibv_device* device : list->devices()) {
      absl::StatusOr<std::shared_ptr<Context>> context = ContextOf(*list, device);
      const absl::Status status = context.ok() ? AppendGids(**context, entries) : context.status();
      if (!status.ok()) refused = status;
      if (status.ok()) listed.push_back(*std::move(context));
    }
  }
  open_ = std::move(listed);
  if (!entries.empty()) return entries;
  if (!refused.ok()) return refused;
  return no_device;
}

absl::StatusOr<std::shared_ptr<Context>> GidList::ContextOf(const DeviceList& list, ibv_device* device) const {
  for (const std::shared_ptr<Context>& context : open_) {
    // Another device of the same name is another object as long as this one is open.
    if (context->get()->device != device) continue;
    context->DrainEvents();
    if (!context->gone()) return context;
  }
  return Context::Open(list, device);
}

}  // namespace skein::fabric::verbs
