// A stream that only chttp2's books know: it stands for all calls that are under way beside HTTP/2.
//
// chttp2 decides by its streams whether a connection is in use: when GOAWAY ends it, whether keepalive pings and
// whether pings are too many, what to give up for want of memory. The placeholder is in these books while there are
// calls, at each end for itself; nothing of it is ever on the wire.
//
// Its number is the highest. So a GOAWAY names it among the streams that go on, and chttp2 takes any stream that a peer
// begins for one of the past.
#ifndef SKEIN_GRPC_TRANSPORT_CALLS_PLACEHOLDER_H_
#define SKEIN_GRPC_TRANSPORT_CALLS_PLACEHOLDER_H_

#include "grpc_transport/grpc_internal.h"

namespace skein::grpc_transport {

// Under chttp2's combiner, all of it.
class Placeholder {
 public:
  explicit Placeholder(grpc_chttp2_transport* transport) : transport_(transport) {}
  ~Placeholder();  // closed

  void Open();
  void Close();

 private:
  struct Stream;
  grpc_chttp2_transport* const transport_;
  Stream* stream_ = nullptr;  // held while it is open
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_CALLS_PLACEHOLDER_H_
