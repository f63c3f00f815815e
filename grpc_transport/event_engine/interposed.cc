// gRPC's two functions that wait for a completion queue, in front of gRPC's own. A program's calls come here if this
// object comes before libgrpc in the order of symbols (it is preloaded, or linked into the program), or, where gRPC is
// linked in statically, by the linker: -Wl,--wrap=grpc_completion_queue_pluck,--wrap=grpc_completion_queue_next, with
// SKEIN_WRAPS_COMPLETION_QUEUES.
#include <dlfcn.h>
#include <grpc/grpc_posix.h>
#include <skein/export.h>

#include "grpc_transport/event_engine/from_descriptor.h"
#include "grpc_transport/event_engine/waiting_callers.h"

// For the stub that is preloaded: it stands before gRPC's functions itself, and knows the real ones.
extern "C" {

SKEIN_EXPORT grpc_event skein_grpc_pluck_1(skein::grpc_transport::PluckFunction* real, grpc_completion_queue* queue,
                                           void* tag, gpr_timespec deadline, void* reserved) {
  return skein::grpc_transport::PollAndPluck(real, queue, tag, deadline, reserved);
}
SKEIN_EXPORT grpc_event skein_grpc_next_1(skein::grpc_transport::NextFunction* real, grpc_completion_queue* queue,
                                          gpr_timespec deadline, void* reserved) {
  return skein::grpc_transport::PollAndNext(real, queue, deadline, reserved);
}
SKEIN_EXPORT void skein_grpc_from_descriptor_1(int is_under_way) {
  skein::grpc_transport::FromDescriptor::Set(is_under_way != 0);
}

}  // extern "C"

#ifdef SKEIN_WRAPS_COMPLETION_QUEUES

extern "C" {

skein::grpc_transport::PluckFunction __real_grpc_completion_queue_pluck;
skein::grpc_transport::NextFunction __real_grpc_completion_queue_next;

grpc_event __wrap_grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag, gpr_timespec deadline,
                                              void* reserved) {
  return skein::grpc_transport::PollAndPluck(__real_grpc_completion_queue_pluck, queue, tag, deadline, reserved);
}
grpc_event __wrap_grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline, void* reserved) {
  return skein::grpc_transport::PollAndNext(__real_grpc_completion_queue_next, queue, deadline, reserved);
}

decltype(grpc_channel_create_from_fd) __real_grpc_channel_create_from_fd;
decltype(grpc_server_add_channel_from_fd) __real_grpc_server_add_channel_from_fd;

grpc_channel* __wrap_grpc_channel_create_from_fd(const char* target, int fd, grpc_channel_credentials* credentials,
                                                 const grpc_channel_args* arguments) {
  const skein::grpc_transport::FromDescriptor under_way;
  return __real_grpc_channel_create_from_fd(target, fd, credentials, arguments);
}
void __wrap_grpc_server_add_channel_from_fd(grpc_server* server, int fd, grpc_server_credentials* credentials) {
  const skein::grpc_transport::FromDescriptor under_way;
  __real_grpc_server_add_channel_from_fd(server, fd, credentials);
}

}  // extern "C"

#else

namespace {

// Of the next object that has it: a program that calls such a function has one.
template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

SKEIN_EXPORT grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag, gpr_timespec deadline,
                                                    void* reserved) {
  static auto* const real = Real<skein::grpc_transport::PluckFunction>("grpc_completion_queue_pluck");
  return skein::grpc_transport::PollAndPluck(real, queue, tag, deadline, reserved);
}
SKEIN_EXPORT grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                                   void* reserved) {
  static auto* const real = Real<skein::grpc_transport::NextFunction>("grpc_completion_queue_next");
  return skein::grpc_transport::PollAndNext(real, queue, deadline, reserved);
}

SKEIN_EXPORT grpc_channel* grpc_channel_create_from_fd(const char* target, int fd,
                                                       grpc_channel_credentials* credentials,
                                                       const grpc_channel_args* arguments) {
  static auto* const real = Real<decltype(grpc_channel_create_from_fd)>("grpc_channel_create_from_fd");
  const skein::grpc_transport::FromDescriptor under_way;
  return real(target, fd, credentials, arguments);
}
SKEIN_EXPORT void grpc_server_add_channel_from_fd(grpc_server* server, int fd, grpc_server_credentials* credentials) {
  static auto* const real = Real<decltype(grpc_server_add_channel_from_fd)>("grpc_server_add_channel_from_fd");
  const skein::grpc_transport::FromDescriptor under_way;
  real(server, fd, credentials);
}

}  // extern "C"

#endif
