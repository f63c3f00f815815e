// Takes the place of core/base/mapping.cc in targets about shared memory: AddressSanitizer knows nothing of mappings,
// so each has a page on either side that nobody may touch.
#include <sys/mman.h>

#include <cerrno>

#include "core/base/errno_status.h"
#include "core/base/mapping.h"

namespace skein {
namespace {

constexpr size_t kGuard = 4096;

size_t WithGuards(size_t size) { return (size + kGuard - 1) / kGuard * kGuard + 2 * kGuard; }

}  // namespace

Mapping::~Mapping() {
  if (!bytes_.empty()) munmap(bytes_.data() - kGuard, WithGuards(bytes_.size()));
}

absl::StatusOr<Mapping> Map(int fd, size_t size, bool writable) {
  void* const guarded = mmap(nullptr, WithGuards(size), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (guarded == MAP_FAILED) return ErrnoStatus(errno, "map guards");
  std::byte* const at = static_cast<std::byte*>(guarded) + kGuard;
  const int flags = MAP_FIXED | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  if (mmap(at, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, flags, fd, 0) == MAP_FAILED) {
    const int error = errno;
    munmap(guarded, WithGuards(size));
    return ErrnoStatus(error, "map");
  }
  Mapping mapping;
  mapping.bytes_ = {at, size};
  return mapping;
}

}  // namespace skein
