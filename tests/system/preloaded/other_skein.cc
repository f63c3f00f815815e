// A library of Skein's for the gRPC of long ago (old_grpc.cc), as far as the preload library asks for it; it says what
// is asked.
#include <grpc/grpc.h>

#include <cstdio>

using Pluck = decltype(grpc_completion_queue_pluck);
using Next = decltype(grpc_completion_queue_next);

extern "C" {

__attribute__((visibility("default"))) const char* skein_grpc_serve_1(const char* const* /*environment*/) {
  std::printf("serves %s\n", grpc_version_string());
  return nullptr;
}
__attribute__((visibility("default"))) grpc_event skein_grpc_pluck_1(Pluck* real, grpc_completion_queue* queue,
                                                                     void* tag, gpr_timespec deadline, void* reserved) {
  std::printf("polls and plucks\n");
  return real(queue, tag, deadline, reserved);
}
__attribute__((visibility("default"))) grpc_event skein_grpc_next_1(Next* real, grpc_completion_queue* queue,
                                                                    gpr_timespec deadline, void* reserved) {
  std::printf("polls for the next\n");
  return real(queue, deadline, reserved);
}

}  // extern "C"
