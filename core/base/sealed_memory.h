// Memory two processes share: a memfd sealed against any change of size, so that no access to a mapping of it can meet
// SIGBUS, whatever the other process does with its descriptor.
#ifndef SKEIN_CORE_BASE_SEALED_MEMORY_H_
#define SKEIN_CORE_BASE_SEALED_MEMORY_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/mapping.h"
#include "core/base/unique_fd.h"

namespace skein {

// A sealed memfd of `size` zeroed bytes. `name` shows in /proc/<pid>/maps. The pages are reserved here: running out
// of memory is an error now and not a SIGBUS at the first write.
absl::StatusOr<UniqueFd> CreateSealedMemfd(const char* name, size_t size);
// The same, but only these ranges are reserved: whoever writes elsewhere sees to the pages first.
struct Range {
  size_t offset = 0;
  size_t size = 0;
};
absl::StatusOr<UniqueFd> CreateSealedMemfd(const char* name, size_t size, absl::Span<const Range> reserved);

// The same, and mapped here. Unless `peers_write`, no process can make another writable mapping of it, whatever
// descriptor it has (F_SEAL_FUTURE_WRITE); before Linux 5.1 the peer's own end alone keeps from it.
struct SharedMemory {
  UniqueFd memfd;
  Mapping mapping;
};
absl::StatusOr<SharedMemory> CreateShared(const char* name, size_t size, bool peers_write);

// Maps a descriptor that a peer sent, after checking that it is a memfd of exactly `size` bytes and will stay so; if
// `writable`, that it can be written as well. An error that CameOfErrno is not the peer's doing.
absl::StatusOr<Mapping> MapSealed(int fd, size_t size, bool writable = true);

}  // namespace skein

#endif  // SKEIN_CORE_BASE_SEALED_MEMORY_H_
