// Whether a connection's addresses leave it possible that the peer is on this host.
#ifndef SKEIN_GRPC_TRANSPORT_SAME_HOST_H_
#define SKEIN_GRPC_TRANSPORT_SAME_HOST_H_

namespace skein::grpc_transport {

// True for UNIX sockets, loopback, and a peer with this host's own address of the connection. True as well when the
// descriptor is none of these families: the fabric will judge.
bool MayBeSameHost(int fd);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_SAME_HOST_H_
