#include "core/service/host_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <vector>

#include "core/connect/rdma_ports.h"
#include "core/connect/verbs_options.h"

namespace skein::service {
namespace {

using fabric::verbs::GidEntry;

sockaddr_storage AddressOf(const std::string& text) {
  sockaddr_storage address = {};
  auto& v4 = reinterpret_cast<sockaddr_in&>(address);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    address.ss_family = AF_INET;
  } else if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    address.ss_family = AF_INET6;
  }
  return address;
}

}  // namespace

absl::StatusOr<Port> HostPorts::For(absl::string_view local_address) {
  absl::StatusOr<std::vector<GidEntry>> entries = gids_.Read();
  if (!entries.ok()) return entries.status();
  std::erase_if(*entries, [this](const GidEntry& entry) { return !connect::Means(options_, entry); });
  absl::StatusOr<GidEntry> entry = fabric::verbs::ChooseGid(*entries, AddressOf(std::string(local_address)));
  if (!entry.ok()) entry = fabric::verbs::DefaultGid(*entries);
  if (!entry.ok()) return entry.status();
  std::shared_ptr<fabric::Device>& device = devices_[{entry->device, entry->port, entry->index, entry->gid}];
  if (device == nullptr || !device->Usable().ok()) {
    device = nullptr;
    absl::StatusOr<std::shared_ptr<fabric::Device>> opened =
        fabric::OpenVerbsDevice(*entry, connect::VerbsOptionsOf(options_));
    if (!opened.ok()) return opened.status();
    device = *std::move(opened);
  }
  return Port{device, address_.empty() ? fabric::verbs::IpAddress(entry->gid) : address_};
}

}  // namespace skein::service
