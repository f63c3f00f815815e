// Persistent memory without a file system: a character device, /dev/dax0.0. Unlike a file's pages, its memory never
// moves, so RDMA devices may be given it for as long as they like.
#ifndef SKEIN_CORE_DURABLE_STORAGE_DAX_DEVICE_H_
#define SKEIN_CORE_DURABLE_STORAGE_DAX_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/durable/storage/log_file.h"

namespace skein::durable {

// Whether there is a character device at `path`.
bool IsCharacterDevice(const std::string& path);

struct DaxDevice {
  LogFile file;
  absl::Span<std::byte> memory;  // `file.size` bytes and the rest of the last page; its owner unmaps it
};

// A DAX device of at least `size` bytes that belongs to this user, who alone may use it. Locked until it is closed.
// Errors: as OpenLogFile's; FAILED_PRECONDITION for any other device.
absl::StatusOr<DaxDevice> OpenDaxDevice(const std::string& path, uint64_t size);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_STORAGE_DAX_DEVICE_H_
