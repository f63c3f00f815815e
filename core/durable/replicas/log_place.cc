#include "core/durable/replicas/log_place.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/durable/log/layout.h"
#include "core/durable/storage/file_storage.h"
#include "core/durable/storage/log_file.h"

namespace skein::durable {

absl::StatusOr<std::unique_ptr<Storage>> FilePlace::OpenLog() {
  struct stat what = {};
  if (lstat(path_.c_str(), &what) != 0) {
    if (errno == ENOENT) return nullptr;
    return ErrnoStatus(errno, absl::StrCat("stat ", path_));
  }
  const auto bytes = static_cast<uint64_t>(what.st_size);
  if (S_ISREG(what.st_mode) && bytes == 0) return nullptr;  // its making was cut short
  if (S_ISREG(what.st_mode) && bytes < kSmallestLog) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_, " is no redo log, for it has ", bytes, " bytes only; name another file"));
  }
  return FileStorage::Open(path_, bytes);
}

absl::StatusOr<std::unique_ptr<Storage>> FilePlace::MakeCopy(uint64_t bytes) {
  if (unlink(CopyPath().c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, absl::StrCat("remove ", CopyPath()));
  }
  return FileStorage::Open(CopyPath(), bytes);
}

absl::Status FilePlace::TakeCopy() {
  if (rename(CopyPath().c_str(), path_.c_str()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("rename ", CopyPath(), " to ", path_));
  }
  return PersistName(path_);
}

}  // namespace skein::durable
