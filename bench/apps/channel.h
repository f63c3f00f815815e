// A way from one thread of a client to a server's functions. The loads are the same over each.
#ifndef SKEIN_BENCH_APPS_CHANNEL_H_
#define SKEIN_BENCH_APPS_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "examples/rpc_program.h"

namespace skein::bench {

// One thread.
class Channel {
 public:
  virtual ~Channel() = default;

  struct Call {
    uint32_t function = 0;
    absl::string_view request;
  };
  // Sends them at once, together. At most as many under way as the channel was opened for.
  virtual absl::Status Start(absl::Span<const Call> calls) = 0;
  // The answer to the oldest one that is under way, until the next Finish.
  virtual absl::StatusOr<absl::string_view> Finish() = 0;
  // Of the service's memory, without its server's processor. UNIMPLEMENTED: this way leads to no memory.
  virtual absl::StatusOr<uint64_t> ReadWord(uint64_t /*place*/) { return absl::UnimplementedError("no memory"); }
};

// A server's functions, and memory that its clients may read: zeroed, and none if there is nothing to read.
struct Service {
  size_t memory_bytes = 0;
  std::function<examples::Functions(absl::Span<std::byte> memory)> functions;
};

// How a program reaches another: what each benchmark is measured over.
struct Path {
  // Serves until the process is killed; tells its address to `address_fd`, at once.
  std::function<absl::Status(const Service&, int address_fd)> serve;
  // Any thread.
  std::function<absl::StatusOr<std::unique_ptr<Channel>>(const std::string& address, size_t window)> open;
};

// Shared memory. The threads of a process share the link.
Path SkeinPath(WaitMode mode);
// The kernel's sockets: a client blocks in the call that receives, a server in libevent's loop; TCP_NODELAY.
Path TcpPath();
Path UnixPath();

}  // namespace skein::bench

#endif  // SKEIN_BENCH_APPS_CHANNEL_H_
