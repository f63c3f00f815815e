// racing_plugins LIBRARY: one thread loads LIBRARY, which uses gRPC in its constructor, and so holds the dynamic
// linker's lock, while another thread loads libgrpc and initialises it. Both must come to an end, in any order.
#include <dlfcn.h>

#include <barrier>
#include <cstdio>
#include <thread>

namespace {

bool Initialise(void* library) {
  const auto init = library == nullptr ? nullptr : reinterpret_cast<void (*)()>(dlsym(library, "grpc_init"));
  if (init != nullptr) init();
  return init != nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::barrier both(2);
  void* plugin = nullptr;
  bool initialised = false;
  std::thread loading([&] {
    both.arrive_and_wait();
    plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  });
  std::thread initialising([&] {
    void* const library = dlopen("libgrpc.so.29", RTLD_NOW | RTLD_LOCAL);
    both.arrive_and_wait();
    initialised = Initialise(library);
  });
  loading.join();
  initialising.join();
  if (plugin == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  const bool served = dlopen("libskein_grpc.so", RTLD_NOW | RTLD_NOLOAD) != nullptr;
  std::printf("%s\n", served ? "served" : "not served");
  return plugin != nullptr && initialised ? 0 : 1;
}
