// A traced call at the client, between the framework and a connection's transport: when it begins and ends there, and
// what the server says of it.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_CLIENT_CALL_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_CLIENT_CALL_H_

#include "core/trace/tracer.h"
#include "grpc_transport/common/call_times.h"
#include "grpc_transport/iomgr/connection_trace.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// In the call's arena. Its callbacks run one after the other, under the call combiner.
class ClientCall {
 public:
  // Whether the call that begins now is traced.
  static bool Wanted(const ConnectionTrace& /*connection*/) { return trace::Sampled(); }

  ClientCall(ConnectionTrace& connection, const grpc_call_element_args& args);
  ClientCall(const ClientCall&) = delete;
  ClientCall& operator=(const ClientCall&) = delete;
  // The program has let go of the call.
  ~ClientCall();

  // Before the transport gets it.
  void Start(grpc_transport_stream_op_batch* batch);

 private:
  static void OnInitial(void* arg, grpc_error_handle error);
  static void OnTrailing(void* arg, grpc_error_handle error);
  static void Ask(grpc_metadata_batch& initial);
  ServerTimes TakeServerTimes();
  void Complete(const ServerTimes& server);

  ConnectionTrace& connection_;
  trace::Record record_;
  bool complete_ = false;  // a reply came, with its status
  SentTimes sent_;
  link::Arrival reply_;
  grpc_metadata_batch* trailing_ = nullptr;
  grpc_closure on_initial_;
  grpc_closure on_trailing_;
  grpc_closure* initial_ready_ = nullptr;
  grpc_closure* trailing_ready_ = nullptr;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_CLIENT_CALL_H_
