// The RDMA devices of this host, as the library lists them.
#ifndef SKEIN_CORE_FABRIC_VERBS_DEVICE_LIST_H_
#define SKEIN_CORE_FABRIC_VERBS_DEVICE_LIST_H_

#include <cerrno>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/errno_status.h"
#include "core/fabric/verbs/ibverbs.h"

namespace skein::fabric::verbs {

// What it lists can be opened while it lives.
class DeviceList {
 public:
  // Empty where the kernel has no RDMA. UNAVAILABLE: RDMA is off; other errors: the kernel's.
  static absl::StatusOr<DeviceList> Get() {
    const absl::StatusOr<const Ibverbs*> lib = LoadIbverbs();
    if (!lib.ok()) return lib.status();
    int count = 0;
    ibv_device** const devices = (*lib)->get_device_list(&count);
    // So libibverbs says that the kernel has no RDMA.
    if (devices == nullptr && errno == ENOSYS) return DeviceList(**lib, {});
    if (devices == nullptr) return ErrnoStatus(errno, "list the RDMA devices");
    return DeviceList(**lib, {devices, static_cast<size_t>(count)});
  }
  // `devices` are `lib`'s, who frees them.
  DeviceList(const Ibverbs& lib, absl::Span<ibv_device*> devices) : lib_(lib), devices_(devices) {}
  DeviceList(DeviceList&& other) noexcept : lib_(other.lib_), devices_(std::exchange(other.devices_, {})) {}
  DeviceList& operator=(DeviceList&&) = delete;
  ~DeviceList() {
    if (devices_.data() != nullptr) lib_.free_device_list(devices_.data());
  }

  const Ibverbs& lib() const { return lib_; }
  absl::Span<ibv_device* const> devices() const { return devices_; }
  absl::string_view NameOf(ibv_device* device) const { return lib_.get_device_name(device); }

 private:
  const Ibverbs& lib_;
  absl::Span<ibv_device*> devices_;
};

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_DEVICE_LIST_H_
