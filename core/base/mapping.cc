#include "core/base/mapping.h"

#include <sys/mman.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"

namespace skein {

Mapping::~Mapping() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

absl::StatusOr<Mapping> Map(int fd, size_t size, bool writable) {
  const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* data = mmap(nullptr, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, flags, fd, 0);
  if (data == MAP_FAILED) return ErrnoStatus(errno, absl::StrCat("map ", size, " bytes"));
  madvise(data, size, MADV_DONTFORK);
  Mapping mapping;
  mapping.bytes_ = {static_cast<std::byte*>(data), size};
  return mapping;
}

}  // namespace skein
