#include "core/base/errno_status.h"

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace skein {
namespace {

absl::string_view Advice(int error) {
  switch (error) {
    case EMFILE:
      return "; raise the limit on open files (ulimit -n)";
    case ENFILE:
      return "; raise fs.file-max";
    case ENOMEM:
      return "; raise the limits on memory (ulimit -v, vm.max_map_count, the memory cgroup)";
    case EFBIG:
      return "; raise the limit on the size of files (ulimit -f)";
    case EPERM:
    case EACCES:
      return "; a security policy of this host or container forbids it";
    default:
      return "";
  }
}

}  // namespace

absl::Status ErrnoStatus(int error, absl::string_view what) {
  absl::Status status = absl::ErrnoToStatus(error, absl::StrCat("cannot ", what));
  const std::string message = absl::StrCat(status.message(), Advice(error));
  if (error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC || error == ENOBUFS || error == EFBIG) {
    return absl::ResourceExhaustedError(message);
  }
  return absl::Status(status.code(), message);
}

}  // namespace skein
