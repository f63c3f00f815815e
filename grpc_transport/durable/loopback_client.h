// Calls the services of this process's own server, through a pair of sockets: a call by gRPC's in-process channel that
// begins as Shutdown does ends the process (1.51).
#ifndef SKEIN_GRPC_TRANSPORT_DURABLE_LOOPBACK_CLIENT_H_
#define SKEIN_GRPC_TRANSPORT_DURABLE_LOOPBACK_CLIENT_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <condition_variable>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "grpc_transport/durable/durable_call.h"

namespace skein::grpc_transport {

// What OnPresence answers.
inline constexpr char kPresenceMethod[] = "/skein.Durable/Presence";

// Any thread. One call, that of its presence, is under way as long as the server serves: gRPC tells it of a Shutdown,
// and ends no Shutdown before it. So it knows whether the server is still there to be connected to.
class LoopbackClient {
 public:
  LoopbackClient();
  // Closes.
  ~LoopbackClient();
  LoopbackClient(const LoopbackClient&) = delete;
  LoopbackClient& operator=(const LoopbackClient&) = delete;

  // `server` serves, and OnPresence is among what it does. Once.
  void Open(grpc::Server& server) ABSL_LOCKS_EXCLUDED(mu_);
  // What cannot be connected now is not connected any more. Idempotent.
  void BeginClose() ABSL_LOCKS_EXCLUDED(mu_);
  // No call is under way, nor does one come. Idempotent.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);

  // How the server's handler has ended it. None: the server goes, and has cut it off, or has not begun it. One that is
  // cut off while the server stays, as its own limits for connections may do, is called again.
  std::optional<LoggedEnd> Call(const LoggedCall& call) ABSL_LOCKS_EXCLUDED(mu_);

  grpc::ServerUnaryReactor* OnPresence(grpc::CallbackServerContext& context, const grpc::ByteBuffer& said,
                                       grpc::ByteBuffer& answer) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  class Presence;
  using Connection = std::shared_ptr<grpc::Channel>;

  static bool Answers(grpc::Channel& channel);
  // Instead of `lost`, or after it. Null: the server goes.
  Connection Connected(const Connection& lost) ABSL_LOCKS_EXCLUDED(mu_);
  void Connect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnGone() ABSL_LOCKS_EXCLUDED(mu_);

  const std::string secret_;  // by which it knows its own presence
  const grpc::ByteBuffer presence_said_;
  grpc::ByteBuffer presence_heard_;
  grpc::ClientContext presence_context_;
  std::optional<grpc::GenericStub> in_process_;  // Open's, then the presence's alone

  Mutex mu_;
  std::condition_variable_any changed_;
  grpc::Server* server_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool asked_ ABSL_GUARDED_BY(mu_) = false;    // the presence's call, seen from the client's side, is not over
  bool present_ ABSL_GUARDED_BY(mu_) = false;  // nor is it from the server's
  bool going_ ABSL_GUARDED_BY(mu_) = false;
  Connection connection_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_DURABLE_LOOPBACK_CLIENT_H_
