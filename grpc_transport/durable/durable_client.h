// The client's stream of durable calls, over any number of connections of its channel.
#ifndef SKEIN_GRPC_TRANSPORT_DURABLE_DURABLE_CLIENT_H_
#define SKEIN_GRPC_TRANSPORT_DURABLE_DURABLE_CLIENT_H_

#include <grpcpp/alarm.h>
#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"
#include "core/durable/calls/outbox.h"

namespace skein::grpc_transport {

// Where the stream is found, at the server as at the client.
inline constexpr char kOwnService[] = "/skein.Durable/";
inline constexpr char kSessionMethod[] = "/skein.Durable/Session";

// Any thread. As soon as a stream has ended, there is another: at once, or after a while if it has made no call safe
// and ended none.
class DurableClient : public std::enable_shared_from_this<DurableClient> {
 public:
  DurableClient(const std::shared_ptr<grpc::Channel>& channel, const durable::OutboxOptions& options);
  // After the constructor.
  void Open() ABSL_LOCKS_EXCLUDED(mu_);
  // Calls without an answer fail with CANCELLED. Must come before the destructor. Returns at once; a thread of its own
  // waits for the stream's end and lets go of the channel. The caller may be one of the few threads that run gRPC's
  // callbacks: the stream's end comes by those threads, and the last channel's destructor waits for them to end.
  static void CloseElsewhere(std::shared_ptr<DurableClient> client);
  durable::Outbox& outbox() { return outbox_; }

 private:
  class Stream;

  void Close() ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status OnMessage(const grpc::ByteBuffer& message) ABSL_LOCKS_EXCLUDED(mu_);
  void OnEnding() ABSL_LOCKS_EXCLUDED(mu_);
  void OnEnd(const grpc::Status& status, const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);
  void OpenLater(std::chrono::milliseconds pause) ABSL_LOCKS_EXCLUDED(mu_);

  std::optional<grpc::GenericStub> stub_;  // until Close
  durable::Outbox outbox_;
  Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  Stream* stream_ ABSL_GUARDED_BY(mu_) = nullptr;  // to be cancelled; deletes itself
  bool streams_ ABSL_GUARDED_BY(mu_) = false;      // until it has done so, and OnEnd is through
  std::condition_variable_any ended_;
  std::chrono::milliseconds pause_ ABSL_GUARDED_BY(mu_){0};
  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_DURABLE_DURABLE_CLIENT_H_
