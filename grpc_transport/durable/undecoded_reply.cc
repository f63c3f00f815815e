#include "grpc_transport/durable/undecoded_reply.h"

#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/impl/codegen/config_protobuf.h>
#include <grpcpp/impl/codegen/interceptor_common.h>

#include <bit>
#include <cstddef>

namespace skein::grpc_transport {
namespace {

using grpc::internal::CallOpGenericRecvMessage;
using grpc::internal::InterceptorBatchMethodsImpl;
using CallOpRecvMessage = grpc::internal::CallOpRecvMessage<grpc::protobuf::MessageLite>;

// Private members of classes in gRPC's public headers. The language lets an explicit instantiation name them. Against a
// gRPC that lacks one of them, this file does not compile.
template <class Tag, typename Tag::Member kMember>
struct Reached {
  friend typename Tag::Member MemberOf(Tag /*tag*/) { return kMember; }
};
struct FailedOfBatch {
  using Member = bool* InterceptorBatchMethodsImpl::*;
  friend Member MemberOf(FailedOfBatch /*tag*/);
};
struct FailedOfTyped {
  using Member = bool CallOpRecvMessage::*;
  friend Member MemberOf(FailedOfTyped /*tag*/);
};
struct BytesOfTyped {
  using Member = grpc::ByteBuffer CallOpRecvMessage::*;
  friend Member MemberOf(BytesOfTyped /*tag*/);
};
struct FailedOfGeneric {
  using Member = bool CallOpGenericRecvMessage::*;
  friend Member MemberOf(FailedOfGeneric /*tag*/);
};
struct BytesOfGeneric {
  using Member = grpc::ByteBuffer CallOpGenericRecvMessage::*;
  friend Member MemberOf(BytesOfGeneric /*tag*/);
};
template struct Reached<FailedOfBatch, &InterceptorBatchMethodsImpl::hijacked_recv_message_failed_>;
template struct Reached<FailedOfTyped, &CallOpRecvMessage::hijacked_recv_message_failed_>;
template struct Reached<BytesOfTyped, &CallOpRecvMessage::recv_buf_>;
template struct Reached<FailedOfGeneric, &CallOpGenericRecvMessage::hijacked_recv_message_failed_>;
template struct Reached<BytesOfGeneric, &CallOpGenericRecvMessage::recv_buf_>;

// A pointer to a member is its offset.
template <class Bytes, class Failed>
ptrdiff_t Distance(Bytes bytes, Failed failed) {
  return std::bit_cast<ptrdiff_t>(MemberOf(failed)) - std::bit_cast<ptrdiff_t>(MemberOf(bytes));
}

}  // namespace

// The batch knows its receive operation by the address of one member. From there to the buffer it is as far in each
// kind of operation, since a message's type is only that of a pointer in it.
void GiveUndecoded(grpc::experimental::InterceptorBatchMethods& batch, grpc::ByteBuffer bytes) {
  static const ptrdiff_t distance = Distance(BytesOfTyped(), FailedOfTyped());
  static const bool in_each = distance == Distance(BytesOfGeneric(), FailedOfGeneric());
  if (!in_each) return batch.FailHijackedRecvMessage();
  bool* const failed = static_cast<InterceptorBatchMethodsImpl&>(batch).*MemberOf(FailedOfBatch());
  auto* const buffer = reinterpret_cast<grpc::ByteBuffer*>(reinterpret_cast<std::byte*>(failed) - distance);
  buffer->Swap(&bytes);
}

}  // namespace skein::grpc_transport
