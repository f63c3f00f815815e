// What a connection is to send: chttp2's bytes and the frames of all calls. Whole small messages go at once; what is
// longer, or would make the queue long, waits with its call, and the calls take turns with a fragment each.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_SEND_QUEUE_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_SEND_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "grpc_transport/iomgr/calls/batch.h"
#include "grpc_transport/iomgr/calls/frame.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// The sending side of one call. Under the connection's lock, as the queue is.
class Outgoing {
 public:
  explicit Outgoing(grpc_stream_refcount* refs) : refs_(refs) {}

  // The number that the peer has given it, before anything is sent on it.
  void Accept(uint32_t call) {
    call_ = call;
    announced_ = true;
  }
  uint32_t call() const { return call_; }

 private:
  friend class SendQueue;

  bool started() const { return call_ != 0; }

  // A batch, or what is left of it.
  struct Waiting {
    uint8_t flags;
    grpc_core::Slice initial;
    grpc_core::Slice trailing;
    grpc_core::SliceBuffer message;
    uint32_t message_bytes;  // of the whole
    bool begun = false;      // the message
    grpc_closure* done;      // to run when the message has gone, or null
  };

  grpc_stream_refcount* const refs_;
  uint32_t call_ = 0;
  int64_t window_ = kInitialWindow;         // what the peer still lets it send
  std::deque<Waiting>* waiting_ = nullptr;  // few calls ever have one
  grpc_closure* on_end_ = nullptr;
  bool listed_ = false;
  bool announced_ = false;  // the peer knows its number, or hears of it before all that is queued from now on
  bool ended_ = false;      // the end of what this end sends has a place
  bool dropped_ = false;
};

class SendQueue {
 public:
  ~SendQueue();

  enum class Added {
    kAll,      // has a place already
    kLater,    // `done` runs when all of it has one
    kDropped,  // the call has been dropped: `done` is left alone
  };
  // Queues what `batch` sends, or has it wait. `done` never runs before the batch's other parts have a place.
  Added Add(Outgoing& call, Batch& batch, grpc_closure* done);
  // The call's number; rises from call to call. What waits may go. The metadata that begins the call goes at once, even
  // where its message waits: calls reach the peer in the order of their numbers.
  void Start(Outgoing& call, uint32_t number);
  // False: no peer that means well gives so much.
  bool Grant(Outgoing& call, uint32_t bytes);
  // What the peer can still be told of a call that is dropped.
  enum class PeerAwaits {
    kNothing,  // it has never heard of the call
    kEnd,      // a message is cut short: only that the call has ended
    kStatus,   // or metadata that ends the call in order
  };
  // Nothing more of this call is to be sent; its closures run with `why`.
  PeerAwaits Drop(Outgoing& call, const grpc_error_handle& why);
  // Nothing is sent of the call but, at a client, its cancellation.
  static bool Ended(const Outgoing& call) { return call.ended_ || call.dropped_; }
  // The peer knows of the call, as a server's client always does, or hears of it if anything more is written.
  static bool Announced(const Outgoing& call) { return call.announced_; }
  // Frees what a call has; after Drop.
  static void Free(Outgoing& call) { delete std::exchange(call.waiting_, nullptr); }

  // Ignored once the queue is closed.
  void AddFrame(const FrameHeader& header, absl::string_view body = {});
  void AddHttp2(grpc_slice_buffer& bytes);

  bool empty() const { return queue_.Length() == 0 && ready_.empty(); }
  // Moves what is to be written next into `to`: what is queued, and a fragment of each call in turn while that is
  // short.
  void Take(grpc_core::SliceBuffer& to);
  // The connection writes no more. No call is announced any more, nor listed: nobody would take it from the list, whose
  // reference would keep the call, the call the connection, and the connection this queue.
  void Close() { closed_ = true; }
  bool closed() const { return closed_; }

 private:
  // More makes the next small message wait for longer; less makes more writes.
  static constexpr size_t kQueueBytes = kMaxFragmentBytes;
  // A write costs the peer a wake-up: of long messages, one takes several fragments.
  static constexpr size_t kWriteBytes = 4 * kMaxFragmentBytes;

  void Wait(Outgoing& call, Batch& batch, grpc_closure* done);
  void Announce(Outgoing& call);
  void List(Outgoing& call);
  void SendOne(Outgoing& call);
  static void Run(grpc_closure*& closure, const grpc_error_handle& error);
  static bool HasSpace(const Outgoing& call, const Batch& batch);
  static bool CanGo(const Outgoing& call);
  static size_t WaitingBytes(const Outgoing& call);

  grpc_core::SliceBuffer queue_;
  std::deque<Outgoing*> ready_;  // each with a reference to its call; the next in turn first
  bool closed_ = false;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_SEND_QUEUE_H_
