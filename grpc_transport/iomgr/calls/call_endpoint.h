// A connection whose bytes are frames: gRPC's endpoint of chttp2, and beside it the calls of a CallTransport.
//
// chttp2 keeps the connection: SETTINGS, PING, GOAWAY. Its bytes are frames of a kind of their own, in one order with
// the calls' frames: what chttp2 says of the connection (the end of new calls, an answer to a ping) reaches the peer
// behind every call that was sent before.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_CALL_ENDPOINT_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_CALL_ENDPOINT_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "grpc_transport/iomgr/calls/frame_reader.h"
#include "grpc_transport/iomgr/calls/send_queue.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// Who has the calls. Called without locks, OnCallFrame by one thread at a time.
class CallSink : public grpc_core::RefCounted<CallSink> {
 public:
  // An error ends the connection: the peer has broken the protocol.
  virtual absl::Status OnCallFrame(const FrameHeader& header, const grpc_core::Slice& metadata,
                                   grpc_core::SliceBuffer& message) = 0;
  // Nothing more arrives. chttp2 is told as well. May come twice.
  virtual void OnConnectionEnd(const grpc_error_handle& why) = 0;
  // Memory is wanted. Any thread.
  virtual void GiveUpACall() = 0;
};

// Any thread, under an ExecCtx. Lock: mu_; neither the sink nor the connection below is called under it.
//
// Ends: chttp2 shuts it down (or the connection below fails, which chttp2 hears from its read); it writes what is
// queued, then shuts down the connection below, whose read and write then fail and let go of it.
class CallEndpoint final : public grpc_core::RefCounted<CallEndpoint>, private FrameReader::Sink {
 public:
  // Owns `connection`. The owner of endpoint() owns this.
  static grpc_endpoint* Create(grpc_endpoint* connection);
  // Null if `endpoint` is another kind of endpoint.
  static CallEndpoint* Of(grpc_endpoint* endpoint);
  ~CallEndpoint() override;

  // Before chttp2 reads first.
  void SetSink(grpc_core::RefCountedPtr<CallSink> sink) ABSL_LOCKS_EXCLUDED(mu_);
  // Lets go of the sink.
  void DropSink() ABSL_LOCKS_EXCLUDED(mu_);
  const std::string& peer() const { return peer_; }

  // As SendQueue's. Not written before Flush, which the caller calls without locks. Add: an error, with `done` left
  // alone, once the connection has ended.
  absl::StatusOr<SendQueue::Added> Add(Outgoing& call, Batch& batch, grpc_closure* done) ABSL_LOCKS_EXCLUDED(mu_);
  void Start(Outgoing& call, uint32_t number) ABSL_LOCKS_EXCLUDED(mu_);
  bool Grant(Outgoing& call, uint32_t bytes) ABSL_LOCKS_EXCLUDED(mu_);
  SendQueue::PeerAwaits Drop(Outgoing& call, const grpc_error_handle& why) ABSL_LOCKS_EXCLUDED(mu_);
  bool Ended(const Outgoing& call) ABSL_LOCKS_EXCLUDED(mu_);
  bool Announced(const Outgoing& call) ABSL_LOCKS_EXCLUDED(mu_);
  void AddFrame(const FrameHeader& header, absl::string_view body = {}) ABSL_LOCKS_EXCLUDED(mu_);
  void Flush() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Base {
    grpc_endpoint endpoint;  // first: gRPC's pointer to it is a pointer to this
    CallEndpoint* self;
  };

  explicit CallEndpoint(grpc_endpoint* connection);
  static CallEndpoint* Self(grpc_endpoint* endpoint) { return reinterpret_cast<Base*>(endpoint)->self; }

  // gRPC's table of functions.
  static void Read(grpc_endpoint* endpoint, grpc_slice_buffer* slices, grpc_closure* done, bool urgent, int at_least);
  static void Write(grpc_endpoint* endpoint, grpc_slice_buffer* slices, grpc_closure* done, void* arg, int max_frame);
  static void Shutdown(grpc_endpoint* endpoint, grpc_error_handle why);
  static void Destroy(grpc_endpoint* endpoint);
  static void AddToPollset(grpc_endpoint* /*e*/, grpc_pollset* /*p*/) {}
  static void AddToPollsetSet(grpc_endpoint* /*e*/, grpc_pollset_set* /*p*/) {}
  static void DeleteFromPollsetSet(grpc_endpoint* /*e*/, grpc_pollset_set* /*p*/) {}
  static absl::string_view Peer(grpc_endpoint* e) { return Self(e)->peer_; }
  static absl::string_view LocalAddress(grpc_endpoint* e) { return Self(e)->local_address_; }
  static int Fd(grpc_endpoint* e) { return grpc_endpoint_get_fd(Self(e)->connection_); }
  static bool CanTrackErrors(grpc_endpoint*) { return false; }
  static const grpc_endpoint_vtable kVtable;

  absl::Status OnHttp2(grpc_core::Slice bytes) override ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status OnFrame(const FrameHeader& header, const grpc_core::Slice& metadata,
                       grpc_core::SliceBuffer& message) override ABSL_LOCKS_EXCLUDED(mu_);

  void ReadMore();
  static void OnRead(void* arg, grpc_error_handle error);
  void EndReading(const grpc_error_handle& why) ABSL_LOCKS_EXCLUDED(mu_);
  void FinishRead(grpc_error_handle error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  static void OnWritten(void* arg, grpc_error_handle error);
  void FinishWrite(grpc_error_handle error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  grpc_core::RefCountedPtr<CallSink> sink() ABSL_LOCKS_EXCLUDED(mu_);

  Base base_;
  grpc_endpoint* const connection_;
  const std::string peer_;
  const std::string local_address_;

  // One thread at a time: that of the read's closure.
  FrameReader reader_;
  grpc_core::RefCountedPtr<CallSink> reading_sink_;  // since the first frame for it
  grpc_slice_buffer arrived_;
  grpc_closure on_read_;  // holds a reference while it is out

  grpc_core::SliceBuffer writing_bytes_;  // the connection's while it writes
  grpc_closure on_written_;               // holds a reference while it is out

  Mutex mu_;
  grpc_core::RefCountedPtr<CallSink> sink_ ABSL_GUARDED_BY(mu_);
  bool reading_ ABSL_GUARDED_BY(mu_) = false;  // since chttp2's first read, until nothing more arrives
  grpc_error_handle shutdown_ ABSL_GUARDED_BY(mu_);
  grpc_error_handle read_error_ ABSL_GUARDED_BY(mu_);
  grpc_core::SliceBuffer http2_ ABSL_GUARDED_BY(mu_);  // arrived before chttp2 has asked for it
  grpc_slice_buffer* read_slices_ ABSL_GUARDED_BY(mu_) = nullptr;
  grpc_closure* read_done_ ABSL_GUARDED_BY(mu_) = nullptr;

  SendQueue queue_ ABSL_GUARDED_BY(mu_);  // closed: the connection below has been shut down
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool http2_queued_ ABSL_GUARDED_BY(mu_) = false;   // chttp2's write is in queue_
  bool http2_writing_ ABSL_GUARDED_BY(mu_) = false;  // and in writing_bytes_
  grpc_closure* write_done_ ABSL_GUARDED_BY(mu_) = nullptr;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_CALL_ENDPOINT_H_
