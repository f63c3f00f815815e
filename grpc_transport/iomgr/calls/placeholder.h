// A stream that only chttp2's books know: it stands for all calls that are under way beside HTTP/2.
//
// chttp2 decides by its streams whether a connection is in use: when GOAWAY ends it, whether keepalive pings and
// whether pings are too many, what to give up for want of memory. The placeholder is in these books while there are
// calls, at each end for itself; of it, only its end for want of memory is ever on the wire.
//
// Its number is the highest or, at a server, the one below: what chttp2 says of its own end's placeholder, the peer's
// takes for a stream that is over. A server's GOAWAY names the highest, so that the client's goes on, and chttp2 takes
// any stream that a peer begins for one of the past.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_PLACEHOLDER_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_PLACEHOLDER_H_

#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

class PlaceholderOwner : public grpc_core::RefCounted<PlaceholderOwner> {
 public:
  // chttp2 has given the placeholder up for want of memory. Not under the combiner.
  virtual void OnGivenUp() = 0;
};

// Under chttp2's combiner, all of it.
class Placeholder {
 public:
  explicit Placeholder(grpc_chttp2_transport* transport) : transport_(transport) {}
  ~Placeholder();  // closed

  // Once more if chttp2 has closed it.
  void Open(PlaceholderOwner& owner);
  void Close();

 private:
  struct Stream;
  grpc_chttp2_transport* const transport_;
  Stream* stream_ = nullptr;  // held while it is open
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_PLACEHOLDER_H_
