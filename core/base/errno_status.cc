#include "core/base/errno_status.h"

#include <cerrno>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace skein {
namespace {

constexpr absl::string_view kErrnoPayload = "skein/errno";

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
    case EACCES:
      return "; this user has no permission, or a security policy of this host or container forbids it";
    case EPERM:
    case ENOSYS:
      return "; a security policy of this host or container forbids it";
    default:
      return "";
  }
}

absl::StatusCode CodeOf(int error) {
  const bool exhausted =
      error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC || error == ENOBUFS || error == EFBIG;
  return exhausted ? absl::StatusCode::kResourceExhausted : absl::ErrnoToStatusCode(error);
}

}  // namespace

absl::Status ErrnoStatus(int error, absl::string_view what) {
  const absl::Status words = absl::ErrnoToStatus(error, absl::StrCat("cannot ", what));
  absl::Status status(CodeOf(error), absl::StrCat(words.message(), Advice(error)));
  status.SetPayload(kErrnoPayload, absl::Cord(absl::StrCat(error)));
  return status;
}

bool CameOfErrno(const absl::Status& status) { return status.GetPayload(kErrnoPayload).has_value(); }

}  // namespace skein
