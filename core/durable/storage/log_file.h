// The file below a storage: whose it is, that it is ours alone while it is open, and that its space is there.
#ifndef SKEIN_CORE_DURABLE_STORAGE_LOG_FILE_H_
#define SKEIN_CORE_DURABLE_STORAGE_LOG_FILE_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "core/durable/storage/persistence.h"

namespace skein::durable {

struct LogFile {
  UniqueFd fd;
  uint64_t size = 0;
  // What fdatasync achieves there: emulated unless the file system is known to write through to a disk.
  Persistence level = Persistence::kEmulated;
};

// A regular file of exactly `size` bytes that belongs to this user, who alone may read it, with its name safe; made if
// there is none, or a part of one that is all zeros, with all its blocks. Locked until it is closed.
// FAILED_PRECONDITION: in use by another process, of another size, or a file of others' that is no log; nothing was
// changed. PERMISSION_DENIED: others could read or replace it. RESOURCE_EXHAUSTED: the disk has no space, and no file
// is left behind.
absl::StatusOr<LogFile> OpenLogFile(const std::string& path, uint64_t size);

// Whether the process's real user may make files beside `path`, and take files away there. NOT_FOUND: there is no such
// folder; PERMISSION_DENIED, or what else the kernel says.
absl::Status CheckFolder(const std::string& path);

// So that a crash cannot take a new or changed name away.
absl::Status PersistName(const std::string& path);

// What it asks of its file, and a DAX device is asked as well: PERMISSION_DENIED unless `what` belongs to this user,
// who alone may use it; FAILED_PRECONDITION if another log has locked it.
absl::Status CheckOwner(const std::string& path, const struct stat& what);
absl::Status LockLog(const std::string& path, int fd);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_STORAGE_LOG_FILE_H_
