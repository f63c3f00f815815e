// Waits for completion queues of the gRPC of long ago.
#include <grpc/grpc.h>

bool WaitsAreOver() {
  int tag = 0;
  const gpr_timespec deadline = {};
  const bool plucked = grpc_completion_queue_pluck(nullptr, &tag, deadline, nullptr).tag == &tag;
  return grpc_completion_queue_next(nullptr, deadline, nullptr).success == 1 && plucked;
}
