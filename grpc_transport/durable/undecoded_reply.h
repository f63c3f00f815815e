// A reply's bytes for a call that an interceptor has taken off its channel.
//
// gRPC's interface wants the reply as a message and gives a `void*` for that. Behind the pointer a stub of protobuf has
// a MessageLite, a GenericStub a ByteBuffer, and another stub a type of its own; nothing in the interface tells which.
// gRPC itself knows: it decodes the buffer of the call's receive operation. So the reply's bytes go into that buffer.
#ifndef SKEIN_GRPC_TRANSPORT_DURABLE_UNDECODED_REPLY_H_
#define SKEIN_GRPC_TRANSPORT_DURABLE_UNDECODED_REPLY_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/client_interceptor.h>

namespace skein::grpc_transport {

// At PRE_RECV_MESSAGE. gRPC decodes `bytes` once the batch proceeds; if it cannot, GetRecvMessage() is null at
// POST_RECV_MESSAGE.
void GiveUndecoded(grpc::experimental::InterceptorBatchMethods& batch, grpc::ByteBuffer bytes);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_DURABLE_UNDECODED_REPLY_H_
