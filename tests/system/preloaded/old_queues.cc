// The functions of the gRPC of long ago (old_grpc.cc) that look as they do today.
#include <grpc/grpc.h>
#include <grpc/support/sync.h>

extern "C" {

__attribute__((visibility("default"))) const char* grpc_version_string() { return "10.0.0"; }
__attribute__((visibility("default"))) void gpr_once_init(gpr_once* /*once*/, void (*function)()) { function(); }
__attribute__((visibility("default"))) grpc_event grpc_completion_queue_pluck(grpc_completion_queue* /*queue*/,
                                                                              void* tag, gpr_timespec /*deadline*/,
                                                                              void* /*reserved*/) {
  return {GRPC_OP_COMPLETE, 1, tag};
}
__attribute__((visibility("default"))) grpc_event grpc_completion_queue_next(grpc_completion_queue* /*queue*/,
                                                                             gpr_timespec /*deadline*/,
                                                                             void* /*reserved*/) {
  return {GRPC_OP_COMPLETE, 1, nullptr};
}

}  // extern "C"
