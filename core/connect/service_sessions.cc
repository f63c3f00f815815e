#include "core/connect/service_sessions.h"

#include "core/fabric/service/service_device.h"
#include "core/fabric/verbs/gid.h"

namespace skein::connect {
namespace {

// Empty: none that skeind could have.
std::string AddressOf(const sockaddr_storage& local) {
  const absl::StatusOr<fabric::verbs::Gid> gid = fabric::verbs::GidOf(local);
  return gid.ok() ? fabric::verbs::IpAddress(*gid) : "";
}

}  // namespace

absl::StatusOr<std::shared_ptr<fabric::Device>> ServiceSessions::For(const Route& route, absl::Time now) {
  const std::string address = AddressOf(route.local);
  Known& known = known_[address];
  if (known.device != nullptr && known.device->Usable().ok()) return known.device;
  known.device = nullptr;
  if (now < known.retry_at) return known.failed;
  absl::StatusOr<std::shared_ptr<fabric::Device>> opened = fabric::OpenServiceDevice(folder_, address);
  if (opened.ok()) return known.device = *std::move(opened);
  known.failed = opened.status();
  known.retry_at = now + retry_delay_;
  return known.failed;
}

}  // namespace skein::connect
