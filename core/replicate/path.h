// A path to one other member of a group: bytes in order, both ways, and their end. The seam between a group and what
// carries it: a stream of Skein's (stream_path.h) or a TCP connection (tcp_path.h).
#ifndef SKEIN_CORE_REPLICATE_PATH_H_
#define SKEIN_CORE_REPLICATE_PATH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace skein::replicate {

using ConstBytes = absl::Span<const std::byte>;
using Bytes = absl::Span<std::byte>;

// Called by the thread that polls what is below, with no lock held; it must not block. Calls may come early, late and
// for nothing.
class PathObserver {
 public:
  virtual ~PathObserver() = default;
  virtual void OnReadable() = 0;  // after a Read that gave nothing: there are bytes, the end, or an error now
  virtual void OnWritable() = 0;  // after a Write that took less than all: it takes more, or fails, now
};

// Used by one thread at a time, but for what its observer is told. No method blocks. A path does not touch any memory
// that it was given once the call has returned.
class Path {
 public:
  // Without CloseWrite before: ends it at once, and the peer may miss what was written last.
  virtual ~Path() = default;

  // Before the first Read or Write.
  virtual void SetObserver(std::shared_ptr<PathObserver> observer) = 0;

  // Takes as many bytes of `parts`, in order, as go now. UNAVAILABLE: the other end is gone, and Read says so, too,
  // behind what has arrived; or this end's kernel refuses, of which nobody tells again.
  virtual absl::StatusOr<size_t> Write(absl::Span<const ConstBytes> parts) = 0;

  // Fills the front of `into`, which is not empty. 0: nothing is there yet. OUT_OF_RANGE: the peer has closed its side,
  // and all its bytes were read. UNAVAILABLE: the other end is gone; bytes that had arrived may be lost, as with TCP.
  virtual absl::StatusOr<size_t> Read(Bytes into) = 0;

  // No more writes; the peer reads what was written, then the end. Reading goes on. Idempotent.
  virtual void CloseWrite() = 0;

  // What carries it, for logs: "shm", "tcp".
  virtual std::string name() const = 0;
};

// A path to one member.
struct MemberPath {
  uint32_t member = 0;
  std::unique_ptr<Path> path;
};

}  // namespace skein::replicate

#endif  // SKEIN_CORE_REPLICATE_PATH_H_
