#include "core/connect/rdma_ports.h"

#include <set>

#include "absl/strings/str_cat.h"

namespace skein::connect {

absl::StatusOr<std::shared_ptr<fabric::Device>> RdmaPorts::For(const Route& route, absl::Time now) {
  if (now > listed_ + kListingIsFresh) {
    Refresh();
    listed_ = now;
  }
  const absl::StatusOr<GidEntry> through = Through(route);
  if (!through.ok()) return through.status();
  std::shared_ptr<fabric::Device>& device = devices_[KeyOf(*through)];
  if (device != nullptr && device->Usable().ok()) return device;
  device = nullptr;
  absl::StatusOr<std::shared_ptr<fabric::Device>> opened = open_(*through);
  if (opened.ok()) device = *opened;
  return opened;
}

// Links keep what they use; this lets go of what no new one can.
void RdmaPorts::Refresh() {
  entries_ = list_();
  std::set<Key> listed;
  if (entries_.ok()) {
    for (const GidEntry& entry : *entries_) listed.insert(KeyOf(entry));
  }
  std::erase_if(devices_, [&](const auto& device) { return !listed.contains(device.first); });
}

absl::StatusOr<RdmaPorts::GidEntry> RdmaPorts::Through(const Route& route) const {
  if (!entries_.ok()) return entries_.status();
  std::vector<GidEntry> wanted = *entries_;
  std::erase_if(wanted, [this](const GidEntry& entry) { return !Means(options_, entry); });
  if (wanted.empty()) {
    return absl::NotFoundError(absl::StrCat("no GID of the device (", options_.device, "), port (", options_.port,
                                            ") and index (", options_.gid_index, ") that the options name"));
  }
  const absl::StatusOr<GidEntry> routed = fabric::verbs::ChooseGid(wanted, route.local);
  return routed.ok() || !NamesPort(options_) ? routed : fabric::verbs::DefaultGid(wanted);
}

bool Means(const RdmaOptions& options, const fabric::verbs::GidEntry& entry) {
  return (options.device.empty() || entry.device == options.device) &&
         (options.port == 0 || entry.port == options.port) &&
         (options.gid_index < 0 || entry.index == static_cast<uint32_t>(options.gid_index));
}

bool NamesPort(const RdmaOptions& options) {
  return !options.device.empty() || options.port != 0 || options.gid_index >= 0;
}

}  // namespace skein::connect
