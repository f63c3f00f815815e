// The sending part of one of gRPC's batches, as a frame needs it.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_BATCH_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_BATCH_H_

#include <cstdint>

#include "grpc_transport/iomgr/calls/frame.h"
#include "grpc_transport/iomgr/calls/metadata.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

struct Batch {
  Batch() { head.Grow(kFrameHeaderBytes); }

  uint8_t flags = 0;                           // as of kCall
  BytesBuilder head;                           // space for the frame's header, then initial and trailing metadata
  uint32_t initial = 0;                        // bytes of the former
  uint32_t trailing = 0;                       // and of the latter
  const grpc_slice_buffer* message = nullptr;  // stays the caller's: gRPC may send it again
  bool may_wait = false;                       // gRPC's hint that more is to follow
  // If this ends the sending: to run once its end has a place, unless Add says that it has.
  grpc_closure* on_end = nullptr;
};

void PutInto(Batch& batch, const grpc_transport_stream_op_batch& op, bool is_server);

// RESOURCE_EXHAUSTED if the metadata is more than the peer takes, as HTTP/2 counts it.
grpc_error_handle CheckSize(const Batch& batch, const grpc_transport_stream_op_batch& op, uint32_t peer_max_metadata);

// The call takes no more, because of `why`: tells gRPC so in the batch. What the batch completes with.
grpc_error_handle NotSent(grpc_transport_stream_op_batch& op, const grpc_error_handle& why);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_BATCH_H_
