#include "grpc_transport/preload/from_descriptors.h"

#include <dlfcn.h>
#include <grpc/grpc_posix.h>

#include <atomic>

#include "grpc_transport/preload/loaded_object.h"
#include "grpc_transport/preload/serve.h"

namespace skein::preload {
namespace {

// Relaxed: an address of code, which comes alone.
std::atomic<FromDescriptorFunction> tell{nullptr};

// As long as one lives, this thread is in such a function.
class Told {
 public:
  Told() : tell_(tell.load(std::memory_order_relaxed)) { Tell(1); }
  ~Told() { Tell(0); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

 private:
  void Tell(int is_under_way) {
    if (tell_ != nullptr) tell_(is_under_way);
  }
  const FromDescriptorFunction tell_;
};

}  // namespace

void TellOfDescriptors(void* skein) {
  tell.store(reinterpret_cast<FromDescriptorFunction>(dlsym(skein, kFromDescriptor)), std::memory_order_relaxed);
}

extern "C" __attribute__((visibility("default"))) grpc_channel* grpc_channel_create_from_fd(
    const char* target, int fd, grpc_channel_credentials* credentials, const grpc_channel_args* arguments) {
  auto* const real = RealOf("grpc_channel_create_from_fd", __builtin_return_address(0), &grpc_channel_create_from_fd);
  if (real == nullptr) return nullptr;
  const Told told;
  return real(target, fd, credentials, arguments);
}

extern "C" __attribute__((visibility("default"))) void grpc_server_add_channel_from_fd(
    grpc_server* server, int fd, grpc_server_credentials* credentials) {
  auto* const real =
      RealOf("grpc_server_add_channel_from_fd", __builtin_return_address(0), &grpc_server_add_channel_from_fd);
  if (real == nullptr) return;
  const Told told;
  real(server, fd, credentials);
}

}  // namespace skein::preload
