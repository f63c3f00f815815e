// What one end of a channel does with the other's memory: one-sided operations.
#ifndef SKEIN_CORE_CHANNEL_REMOTE_MEMORY_H_
#define SKEIN_CORE_CHANNEL_REMOTE_MEMORY_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/fabric/fabric.h"

namespace skein::channel {

// Any thread, but PostOperations, which is a sending method.
class RemoteMemory {
 public:
  virtual ~RemoteMemory() = default;

  // Posts one-sided operations together. RESOURCE_EXHAUSTED: not now. FAILED_PRECONDITION where they are executed.
  virtual absl::Status PostOperations(absl::Span<const fabric::SendRequest> /*operations*/) {
    return absl::FailedPreconditionError("this channel executes operations, and posts none");
  }
  // Whether the peer's memory is mapped here, so that its operations are executed at once and not posted. An
  // operation without kSuccess has touched nothing and ends the channel, as on a queue pair. INVALID_ARGUMENT: no such
  // operation.
  virtual bool executes() const { return false; }
  virtual absl::StatusOr<fabric::CompletionStatus> Execute(const fabric::SendRequest& /*operation*/) {
    return absl::FailedPreconditionError("this channel posts operations, and executes none");
  }
  // Lets the peer use memory of this end (Transport::Allocate) by its remote(): before it reads the next message.
  // RESOURCE_EXHAUSTED: not now, or it is more than a peer takes. Where operations are executed, the peer has
  // the pages until its channel goes, even if the region goes before.
  virtual absl::Status Pass(const fabric::MemoryRegion& /*region*/) { return absl::OkStatus(); }
  // The peer may Pass memory from now on, because this end is about to ask for it. Before, to pass some is a protocol
  // error.
  virtual void ExpectMemory() {}
};

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_REMOTE_MEMORY_H_
