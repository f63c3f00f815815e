// One call over a CallTransport: gRPC's stream. The call keeps what has arrived until gRPC asks for it, and what gRPC
// asks for until it arrives.
//
//   What the peer sends:   nothing --initial--> initial --trailing--> all
//   What this end sends:   nothing --initial--> initial --trailing--> all
//   The call:              under way --(client: the peer has sent all; server: both have)--> over
//                                    `--(cancelled, refused, or the connection has ended)--> failed
//
// A failed call hands out what gRPC asks for at once: no message, and a status made of the error.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_CALL_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_CALL_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "grpc_transport/iomgr/calls/frame.h"
#include "grpc_transport/iomgr/calls/send_queue.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

class CallTransport;

// Lives in the memory that gRPC gives it, by gRPC's references. Any thread. Lock: mu_, a leaf: closures are scheduled
// under it and run without.
class Call {
 public:
  using NetworkState = grpc_core::GrpcStreamNetworkState::ValueType;
  struct Peer {
    const std::string& name;        // as gRPC has it: "ipv4:127.0.0.1:1"
    const grpc_core::Slice& agent;  // a client's; empty at clients
    size_t max_metadata;            // that this end takes, as HTTP/2 counts it
    bool is_server;                 // it, not this end
  };

  Call(CallTransport& transport, grpc_stream_refcount* refs) : transport_(transport), refs_(refs), outgoing_(refs) {}
  ~Call();

  void Ref() { grpc_stream_ref(refs_, "skein"); }
  void Unref() { grpc_stream_unref(refs_, "skein"); }
  CallTransport& transport() const { return transport_; }

  // Under the connection's lock.
  Outgoing& outgoing() { return outgoing_; }

  // False: nothing is sent any more, after an error, the end of the sending or, at a client, the status. Otherwise
  // notes what the batch sends.
  bool BeginSend(const grpc_transport_stream_op_batch& op, const Batch& batch, const Peer& peer)
      ABSL_LOCKS_EXCLUDED(mu_);

  // The transport's part once a call has changed.
  struct After {
    absl::Status protocol_error;  // of the peer: the connection is to end
    bool over = false;            // nothing more is to arrive
    bool failed = false;          // now; the peer is to be told if
    bool tell = false;            // it awaits more, at a server as a status if
    bool as_status = false;       // the error has one
    grpc_error_handle error;
    uint32_t window = 0;  // what the peer may send in addition
  };
  // gRPC asks.
  After Receive(grpc_transport_stream_op_batch& op, const Peer& peer) ABSL_LOCKS_EXCLUDED(mu_);
  // A frame kCall or kMore; `message` is emptied.
  After Arrived(const FrameHeader& header, const grpc_core::Slice& metadata, grpc_core::SliceBuffer& message,
                const Peer& peer) ABSL_LOCKS_EXCLUDED(mu_);
  // The call fails, unless it is over or has failed.
  After Fail(const grpc_error_handle& why, const Peer& peer, std::optional<NetworkState> state = std::nullopt)
      ABSL_LOCKS_EXCLUDED(mu_);
  // A server has sent all.
  void SentAll(const Peer& peer) ABSL_LOCKS_EXCLUDED(mu_);

  // The transport's, under its lock.
  bool listed = false;
  grpc_closure on_sent_all;  // a server's

 private:
  struct Message {
    grpc_core::SliceBuffer bytes;
    uint32_t flags = 0;
  };
  struct AskedInitial {
    grpc_closure* ready = nullptr;
    grpc_metadata_batch* to = nullptr;
    bool* trailing_available = nullptr;
  };
  struct AskedMessage {
    grpc_closure* ready = nullptr;
    absl::optional<grpc_core::SliceBuffer>* to = nullptr;
    uint32_t* flags = nullptr;
    bool* failed = nullptr;
  };
  struct AskedTrailing {
    grpc_closure* ready = nullptr;
    grpc_metadata_batch* to = nullptr;
    grpc_transport_stream_stats* stats = nullptr;
  };

  bool failed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !error_.ok(); }
  void SetFailed(After& after, const Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CheckTurn(const FrameHeader& header) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TakeMessage(const FrameHeader& header, grpc_core::SliceBuffer& bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Hands out whatever is there and asked for.
  void HandOut(const Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void HandOutInitial(const Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void HandOutMessage(const Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void HandOutTrailing(const Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetStatusOfError(grpc_metadata_batch& metadata) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Metadata that breaks the format or the limit fails the call.
  void Decode(const grpc_core::Slice& bytes, grpc_metadata_batch& to, const Peer& peer, absl::string_view kind)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasMessage() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return whole_ || (messages_ != nullptr && !messages_->empty());
  }
  uint32_t WindowToGive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void Run(grpc_closure*& closure);

  CallTransport& transport_;
  grpc_stream_refcount* const refs_;
  Outgoing outgoing_;

  mutable Mutex mu_;
  bool sent_initial_ ABSL_GUARDED_BY(mu_) = false;
  bool sent_trailing_ ABSL_GUARDED_BY(mu_) = false;
  bool sent_all_ ABSL_GUARDED_BY(mu_) = false;  // and it has left
  bool streams_ ABSL_GUARDED_BY(mu_) = false;   // more may follow a message that has been sent
  bool has_initial_ ABSL_GUARDED_BY(mu_) = false;
  bool has_trailing_ ABSL_GUARDED_BY(mu_) = false;
  bool initial_handed_out_ ABSL_GUARDED_BY(mu_) = false;
  grpc_error_handle error_ ABSL_GUARDED_BY(mu_);
  std::optional<NetworkState> network_state_ ABSL_GUARDED_BY(mu_);
  grpc_core::Timestamp deadline_ ABSL_GUARDED_BY(mu_) = grpc_core::Timestamp::InfFuture();

  grpc_core::Slice initial_ ABSL_GUARDED_BY(mu_);                 // as it came
  grpc_core::Slice trailing_ ABSL_GUARDED_BY(mu_);                // likewise
  std::deque<Message>* messages_ ABSL_GUARDED_BY(mu_) = nullptr;  // whole ones before message_; few calls have any
  Message message_ ABSL_GUARDED_BY(mu_);                          // the last that has begun; until it is handed out
  bool whole_ ABSL_GUARDED_BY(mu_) = false;                       // it is
  uint32_t missing_ ABSL_GUARDED_BY(mu_) = 0;                     // bytes of it
  int64_t received_ ABSL_GUARDED_BY(mu_) = 0;                     // of the window, in all
  int64_t consumed_ ABSL_GUARDED_BY(mu_) = 0;                     // of this, for messages that were handed out
  int64_t granted_ ABSL_GUARDED_BY(mu_) = kInitialWindow;
  grpc_transport_stream_stats stats_ ABSL_GUARDED_BY(mu_);

  AskedInitial asked_initial_ ABSL_GUARDED_BY(mu_);
  AskedMessage asked_message_ ABSL_GUARDED_BY(mu_);
  AskedTrailing asked_trailing_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_CALL_H_
