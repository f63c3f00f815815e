// Memory two processes share: a memfd sealed against any change of size, so that no access to a mapping of it can meet
// SIGBUS, whatever the other process does with its descriptor.
#ifndef SKEIN_CORE_FABRIC_SHM_MEMORY_H_
#define SKEIN_CORE_FABRIC_SHM_MEMORY_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/mapping.h"
#include "core/base/unique_fd.h"

namespace skein::fabric::shm {

// A sealed memfd of `size` zeroed bytes. `name` shows in /proc/<pid>/maps. The pages are reserved here: running out
// of memory is an error now and not a SIGBUS at the first write.
absl::StatusOr<UniqueFd> CreateSealedMemfd(const char* name, size_t size);
// The same, but only these ranges are reserved: whoever writes elsewhere sees to the pages first.
struct Range {
  size_t offset = 0;
  size_t size = 0;
};
absl::StatusOr<UniqueFd> CreateSealedMemfd(const char* name, size_t size, absl::Span<const Range> reserved);

// Maps a descriptor that a peer sent, after checking that it is a memfd of exactly `size` bytes and will stay so. An
// error that CameOfErrno is not the peer's doing.
absl::StatusOr<Mapping> MapSealed(int fd, size_t size);

}  // namespace skein::fabric::shm

#endif  // SKEIN_CORE_FABRIC_SHM_MEMORY_H_
