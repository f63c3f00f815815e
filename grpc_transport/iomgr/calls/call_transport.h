// Calls below HTTP/2: gRPC's transport for a connection whose two ends have agreed on it. It stands before chttp2's
// transport of the connection, which keeps all but the calls.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_CALL_TRANSPORT_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_CALL_TRANSPORT_H_

#include <cstdint>
#include <deque>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/mutex.h"
#include "grpc_transport/iomgr/calls/books.h"
#include "grpc_transport/iomgr/calls/call.h"
#include "grpc_transport/iomgr/calls/call_endpoint.h"
#include "grpc_transport/iomgr/calls/frame.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

inline constexpr char kCallTransportName[] = "skein";  // without "http": gRPC adds none of HTTP's filters

// Lock: mu_, under which frames are queued (CallEndpoint's lock follows) and nothing is written, handed out or called.
class CallTransport final : public CallSink {
 public:
  // Puts itself before `transport`; gRPC's destroy() ends that, and this.
  CallTransport(::grpc_transport* transport, CallEndpoint& endpoint, bool is_client,
                const grpc_core::ChannelArgs& args);
  ~CallTransport() override { endpoint_->Unref(); }

  absl::Status OnCallFrame(const FrameHeader& header, const grpc_core::Slice& metadata,
                           grpc_core::SliceBuffer& message) override ABSL_LOCKS_EXCLUDED(mu_);
  void OnConnectionEnd(const grpc_error_handle& why) override ABSL_LOCKS_EXCLUDED(mu_);
  void GiveUpACall() override ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // gRPC's table of functions, and whose it is.
  struct Table {
    grpc_transport_vtable functions;  // first: what the transport points to
    CallTransport* self;
  };
  // What gRPC hands back when it has made a call for a client's.
  struct Accepted {
    uint32_t number = 0;
    Call* call = nullptr;
  };
  // Hears of a GOAWAY before chttp2 sends anything else: Notify is called within chttp2's combiner.
  class StateWatcher;

  static CallTransport& Of(::grpc_transport* transport) {
    return *reinterpret_cast<const Table*>(transport->vtable)->self;
  }
  static Call& CallOf(grpc_stream* stream) { return *reinterpret_cast<Call*>(stream); }
  static int InitStream(::grpc_transport* transport, grpc_stream* stream, grpc_stream_refcount* refs,
                        const void* server_data, grpc_core::Arena* arena);
  static void SetPollset(::grpc_transport*, grpc_stream*, grpc_pollset*) {}
  static void SetPollsetSet(::grpc_transport*, grpc_stream*, grpc_pollset_set*) {}
  static void PerformStreamOp(::grpc_transport* transport, grpc_stream* stream, grpc_transport_stream_op_batch* op);
  static void PerformOp(::grpc_transport* transport, grpc_transport_op* op);
  static void DestroyStream(::grpc_transport* transport, grpc_stream* stream, grpc_closure* then);
  static void Destroy(::grpc_transport* transport);
  static grpc_endpoint* GetEndpoint(::grpc_transport* transport) {
    return Of(transport).chttp2_->get_endpoint(transport);
  }

  Call::Peer peer() const { return {endpoint_->peer(), agent_, own_max_metadata_, is_client_}; }

  // Sending.
  void Send(Call& call, grpc_transport_stream_op_batch& op);
  // A client's call gets its number, or waits for one. An error: it can have none.
  grpc_error_handle Admit(Call& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void GiveNumber(Call& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Fails a client's call of which the server has not heard, later, by chttp2's combiner: gRPC may retry it. Completes
  // the batch with `result` then.
  void Refuse(Call& call, const grpc_error_handle& why, grpc_closure* on_complete = nullptr,
              const grpc_error_handle& result = absl::OkStatus()) ABSL_LOCKS_EXCLUDED(mu_);
  void SayHello() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Receiving.
  Call* Find(uint32_t number) ABSL_LOCKS_EXCLUDED(mu_);  // with a reference
  bool Known(uint32_t number) ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<Call*> Accept(const FrameHeader& header);  // with a reference; null: refused
  absl::Status CheckNewCall(uint32_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status OnConnectionFrame(const FrameHeader& header, const grpc_core::Slice& metadata);
  absl::Status OnFrameOf(Call& call, const FrameHeader& header, const grpc_core::Slice& metadata,
                         grpc_core::SliceBuffer& message);
  void Do(Call& call, const Call::After& after);
  void Tell(Call& call, const Call::After& after);
  // Of a call of which the peer knows, or cannot be told, that it is over.
  static Call::After EndedByPeer(Call::After after);
  static grpc_error_handle ErrorOfEnd(uint32_t status);

  // The calls under way.
  void List(Call& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Sent(Call& call);  // all of a server's
  static void OnSentAll(void* call, grpc_error_handle error);
  void Forget(Call& call, bool succeeded) ABSL_LOCKS_EXCLUDED(mu_);
  void SayDrain();
  void Drain(const grpc_error_handle& why) ABSL_LOCKS_EXCLUDED(mu_);

  Table table_;
  const grpc_transport_vtable* const chttp2_;
  ::grpc_transport* const transport_;
  CallEndpoint* const endpoint_;  // with a reference
  const bool is_client_;
  const std::string own_agent_;  // a client's
  const grpc_core::RefCountedPtr<grpc_core::channelz::SocketNode> channelz_;
  const grpc_core::RefCountedPtr<Books> books_;
  const uint32_t own_max_metadata_;
  const uint32_t peer_max_metadata_;
  const uint32_t own_max_calls_;
  const uint32_t peer_max_calls_;
  grpc_core::Slice agent_;  // the client's, at a server; by the reader, before its first call

  Mutex accept_mu_;  // before mu_ and calls' locks
  void (*accept_)(void*, ::grpc_transport*, const void*) ABSL_GUARDED_BY(accept_mu_) = nullptr;
  void* accept_data_ ABSL_GUARDED_BY(accept_mu_) = nullptr;

  Mutex mu_;
  absl::flat_hash_map<uint32_t, Call*> calls_ ABSL_GUARDED_BY(mu_);  // with references
  std::deque<Call*> unstarted_ ABSL_GUARDED_BY(mu_);                 // likewise; the server takes no more just now
  uint32_t last_number_ ABSL_GUARDED_BY(mu_);                        // a client's own, a server's client's
  bool said_hello_ ABSL_GUARDED_BY(mu_) = false;
  bool paused_ ABSL_GUARDED_BY(mu_) = false;            // the server has said that GOAWAY follows
  uint32_t goodbye_ ABSL_GUARDED_BY(mu_) = UINT32_MAX;  // the last call that the server has looked at
  grpc_error_handle draining_ ABSL_GUARDED_BY(mu_);     // no call begins any more
  grpc_error_handle ended_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_CALL_TRANSPORT_H_
