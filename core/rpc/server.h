// The answering end: handlers by number, and a thread of the caller's that runs them.
//
//   rpc::Server server({});
//   server.Handle(kEcho, [](absl::string_view request, rpc::Reply reply) { reply.Send(request); });
//   absl::StatusOr<std::string> address = server.Listen("0.0.0.0:7000");
//   server.Serve();  // until Stop
#ifndef SKEIN_CORE_RPC_SERVER_H_
#define SKEIN_CORE_RPC_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/rpc/options.h"
#include "core/rpc/regions.h"
#include "core/rpc/server_port.h"

namespace skein::rpc {

class Server {
 public:
  explicit Server(const Options& options);
  // Its connections end. Not while it serves. Replies that are still held may outlive it, and go nowhere.
  ~Server();

  // Before Listen, below kFirstOwnHandler. ALREADY_EXISTS; INVALID_ARGUMENT; FAILED_PRECONDITION when it listens
  // already.
  absl::Status Handle(uint32_t number, const Handler& handler);
  // Zeroed memory that clients may use as `access` says (fabric::Access, kServerAtomic); the server's own use of it is
  // its program's matter, beside theirs. As long as the server. ALREADY_EXISTS, RESOURCE_EXHAUSTED.
  absl::StatusOr<absl::Span<std::byte>> Attach(uint32_t number, size_t bytes, uint32_t access);
  // Gives the address as numbers; port 0 takes any that is free.
  absl::StatusOr<std::string> Listen(absl::string_view address);
  // Connects, polls, and runs the handlers on this thread, until Stop; after that the server is at its end. One thread
  // at a time.
  absl::Status Serve();
  // Any thread, also from a handler.
  void Stop();

 private:
  class Impl;
  const std::shared_ptr<Impl> impl_;
};

}  // namespace skein::rpc

#endif  // SKEIN_CORE_RPC_SERVER_H_
