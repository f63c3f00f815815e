#include "core/base/sealed_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/base/signals_blocked.h"

namespace skein {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr int kWriteSeals = F_SEAL_WRITE | F_SEAL_FUTURE_WRITE;

// A limit on the size of files is one on memfds, too, and asked for first: who goes beyond is killed (SIGXFSZ).
bool MayHaveSize(size_t size) {
  rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || size <= limit.rlim_cur;
}

// errno, or 0.
int Reserve(int fd, const Range& range) {
  // A signal undoes it, and a timer's would each time: they wait. After what nothing blocks, a stop, it begins again.
  const SignalsBlocked blocked;
  int error = 0;
  do {
    error = posix_fallocate(fd, static_cast<off_t>(range.offset), static_cast<off_t>(range.size));
  } while (error == EINTR);
  return error;
}

absl::StatusOr<UniqueFd> CreateMemfd(const char* name, size_t size, absl::Span<const Range> reserved) {
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return ErrnoStatus(errno, "create a memfd");
  int error = MayHaveSize(size) ? 0 : EFBIG;
  // The end of what is reserved is the file's; only where that is less, it has to be told its size.
  bool sized = false;
  for (const Range& range : reserved) {
    if (error == 0) error = Reserve(fd.get(), range);
    sized |= range.offset + range.size == size;
  }
  if (error == 0 && !sized && ftruncate(fd.get(), static_cast<off_t>(size)) != 0) error = errno;
  if (error != 0) return ErrnoStatus(error, absl::StrCat("reserve ", size, " bytes of shared memory"));
  return fd;
}

absl::Status Seal(int memfd, int seals) {
  int sealed = fcntl(memfd, F_ADD_SEALS, seals);
  // This kernel does not know the seal: the peer's own end alone sees to it that it does not write.
  if (sealed != 0 && errno == EINVAL && (seals & F_SEAL_FUTURE_WRITE) != 0) {
    sealed = fcntl(memfd, F_ADD_SEALS, seals & ~F_SEAL_FUTURE_WRITE);
  }
  return sealed == 0 ? absl::OkStatus() : ErrnoStatus(errno, "seal a memfd");
}

}  // namespace

absl::StatusOr<UniqueFd> CreateSealedMemfd(const char* name, size_t size) {
  const Range all = {0, size};
  return CreateSealedMemfd(name, size, {&all, 1});
}

absl::StatusOr<UniqueFd> CreateSealedMemfd(const char* name, size_t size, absl::Span<const Range> reserved) {
  absl::StatusOr<UniqueFd> memfd = CreateMemfd(name, size, reserved);
  if (!memfd.ok()) return memfd;
  if (absl::Status sealed = Seal(memfd->get(), kSeals); !sealed.ok()) return sealed;
  return memfd;
}

absl::StatusOr<SharedMemory> CreateShared(const char* name, size_t size, bool peers_write) {
  const Range all = {0, size};
  absl::StatusOr<UniqueFd> memfd = CreateMemfd(name, size, {&all, 1});
  if (!memfd.ok()) return memfd.status();
  // Mapped before it is sealed: the seal lets writable mappings be that there are.
  absl::StatusOr<Mapping> mapping = Map(memfd->get(), size);
  if (!mapping.ok()) return mapping.status();
  const int seals = peers_write ? kSeals : kSeals | F_SEAL_FUTURE_WRITE;
  if (absl::Status sealed = Seal(memfd->get(), seals); !sealed.ok()) return sealed;
  return SharedMemory{*std::move(memfd), *std::move(mapping)};
}

absl::StatusOr<Mapping> MapSealed(int fd, size_t size, bool writable) {
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 && errno != EINVAL && errno != EBADF) return ErrnoStatus(errno, "ask for a memfd's seals (fcntl)");
  if (seals < 0 || (seals & kSeals) != kSeals) {
    return absl::PermissionDeniedError("the peer's memory is not sealed against changes of its size");
  }
  const int mode = fcntl(fd, F_GETFL) & O_ACCMODE;
  if (writable && ((seals & kWriteSeals) != 0 || mode != O_RDWR)) {
    return absl::PermissionDeniedError("the peer's memory cannot be written");
  }
  // The kernel would refuse to map either, and that is not to look like its own refusal.
  if ((seals & F_SEAL_WRITE) != 0 || mode == O_WRONLY) {
    return absl::PermissionDeniedError("the peer's memory cannot be shared for reading");
  }
  // Of huge pages the peer could take one away again that there is no other one for: SIGBUS. (Its file system is the
  // kernel's: no other one knows seals.)
  struct statfs system = {};
  if (fstatfs(fd, &system) != 0) return ErrnoStatus(errno, "look at a memfd (fstatfs)");
  if (system.f_type != TMPFS_MAGIC) return absl::PermissionDeniedError("the peer's memory is of huge pages");
  struct stat status = {};
  if (fstat(fd, &status) != 0) return ErrnoStatus(errno, "look at a memfd (fstat)");
  if (static_cast<uint64_t>(status.st_size) != size) {
    return absl::PermissionDeniedError(
        absl::StrCat("the peer's memory has ", status.st_size, " bytes, but it said ", size));
  }
  return Map(fd, size, writable);
}

}  // namespace skein
