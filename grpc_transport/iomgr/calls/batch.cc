#include "grpc_transport/iomgr/calls/batch.h"

#include "absl/strings/str_cat.h"
#include "grpc_transport/iomgr/errors.h"

namespace skein::grpc_transport {
namespace {

// Whether metadata holds anything that gRPC does not know, so that it is a program's own.
class OwnEntries {
 public:
  bool any() const { return any_; }
  void Encode(const grpc_core::Slice& /*name*/, const grpc_core::Slice& /*value*/) { any_ = true; }
  template <typename Trait>
  void Encode(Trait, const typename Trait::ValueType&) {}

 private:
  bool any_ = false;
};

// A server's answer that HTTP/2 would send as trailers only: a client then knows that nothing else was meant to come,
// and may call again.
bool IsStatusAlone(const grpc_transport_stream_op_batch& op) {
  if (!op.send_trailing_metadata || op.send_message) return false;
  OwnEntries own;
  op.payload->send_initial_metadata.send_initial_metadata->Encode(&own);
  return !own.any();
}

}  // namespace

void PutInto(Batch& batch, const grpc_transport_stream_op_batch& op, bool is_server) {
  if (op.send_initial_metadata && !(is_server && IsStatusAlone(op))) {
    batch.flags |= kInitial;
    EncodeMetadata(*op.payload->send_initial_metadata.send_initial_metadata, batch.head);
    batch.initial = static_cast<uint32_t>(batch.head.size() - kFrameHeaderBytes);
  }
  if (op.send_trailing_metadata) {
    batch.flags |= kTrailing;
    EncodeMetadata(*op.payload->send_trailing_metadata.send_trailing_metadata, batch.head);
    batch.trailing = static_cast<uint32_t>(batch.head.size() - kFrameHeaderBytes) - batch.initial;
  }
  if (op.send_message) {
    const uint32_t flags = op.payload->send_message.flags;
    batch.flags |= kMessage;
    if ((flags & GRPC_WRITE_INTERNAL_COMPRESS) != 0) batch.flags |= kCompressed;
    batch.may_wait = (flags & GRPC_WRITE_BUFFER_HINT) != 0 && !op.send_trailing_metadata;
    batch.message = op.payload->send_message.send_message->c_slice_buffer();
  }
}

grpc_error_handle CheckSize(const Batch& batch, const grpc_transport_stream_op_batch& op, uint32_t peer_max_metadata) {
  absl::string_view kind;
  if (op.send_initial_metadata &&
      IsLongerThan(peer_max_metadata, *op.payload->send_initial_metadata.send_initial_metadata, batch.initial)) {
    kind = "initial";
  } else if (op.send_trailing_metadata &&
             IsLongerThan(peer_max_metadata, *op.payload->send_trailing_metadata.send_trailing_metadata,
                          batch.trailing)) {
    kind = "trailing";
  } else {
    return absl::OkStatus();
  }
  return WithStatus(GRPC_ERROR_CREATE(absl::StrCat("to-be-sent ", kind, " metadata size exceeds peer limit")),
                    GRPC_STATUS_RESOURCE_EXHAUSTED);
}

grpc_error_handle NotSent(grpc_transport_stream_op_batch& op, const grpc_error_handle& why) {
  if (op.send_message) op.payload->send_message.stream_write_closed = true;
  const bool matters =
      op.send_initial_metadata ||
      (op.send_trailing_metadata && !op.payload->send_trailing_metadata.send_trailing_metadata->empty());
  return matters ? why : absl::OkStatus();
}

}  // namespace skein::grpc_transport
