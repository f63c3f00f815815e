// A traced call at the server, between a connection's transport and the framework: when it comes and goes there, told
// to a client who asks.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_SERVER_CALL_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_SERVER_CALL_H_

#include "core/trace/tracer.h"
#include "grpc_transport/iomgr/connection_trace.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// In the call's arena. Its callbacks run one after the other, under the call combiner.
class ServerCall {
 public:
  // Whether the call that begins now may be traced: that is known when its metadata have come.
  static bool Wanted(const ConnectionTrace& connection) { return trace::Enabled() || connection.peer_traces(); }

  ServerCall(ConnectionTrace& connection, const grpc_call_element_args& args);
  ServerCall(const ServerCall&) = delete;
  ServerCall& operator=(const ServerCall&) = delete;
  // The call is over: its reply has been written, if it ever will be.
  ~ServerCall();

  // Before the transport gets it.
  void Start(grpc_transport_stream_op_batch* batch);

 private:
  static void OnInitial(void* arg, grpc_error_handle error);
  static void OnMessage(void* arg, grpc_error_handle error);
  void Begin();
  void Tell(grpc_metadata_batch& trailing) const;

  ConnectionTrace& connection_;
  bool wanted_ = false;  // by the client, who is to be told
  bool kept_ = false;    // a record here, too
  bool traced_ = false;  // either
  trace::Record record_;
  SentTimes sent_;
  grpc_metadata_batch* initial_ = nullptr;
  absl::optional<grpc_core::SliceBuffer>* message_ = nullptr;
  grpc_closure on_initial_;
  grpc_closure on_message_;
  grpc_closure* initial_ready_ = nullptr;
  grpc_closure* message_ready_ = nullptr;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_SERVER_CALL_H_
