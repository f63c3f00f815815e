// racing_plugins init|lock PLUGIN: one thread initialises libgrpc. In the midst of that, another thread loads PLUGIN,
// whose constructor initialises libgrpc as well, and so waits for the first thread with the dynamic linker's lock in
// its hands: for Skein's Init(), or for libgrpc's own lock. Both must come to an end.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

using Version = const char* (*)();
using Cores = unsigned (*)();

Version version = nullptr;
Cores cores = nullptr;
std::atomic<bool> in_its_midst{false};
std::atomic<bool> plugin_initialises{false};
bool meet_in_init = false;

// Of the first thread, once.
void Meet() {
  if (in_its_midst.exchange(true)) return;
  in_its_midst.notify_all();
  plugin_initialises.wait(false);
}

template <typename Function>
void Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

// In front of libgrpc's: Init() asks for the version first.
EXPORTED const char* grpc_version_string() {
  if (meet_in_init) Meet();
  return version();
}

// In front of libgpr's: libgrpc asks for it under its lock.
EXPORTED unsigned gpr_cpu_num_cores() {
  if (!meet_in_init && cores != nullptr) Meet();
  return cores == nullptr ? 1 : cores();
}

// By PLUGIN's constructor.
EXPORTED void plugin_begins() {
  plugin_initialises.store(true);
  plugin_initialises.notify_all();
}

int main(int argc, char** argv) {
  void* const grpc = dlopen(SKEIN_LIBGRPC, RTLD_NOW | RTLD_LOCAL);
  if (argc < 3 || grpc == nullptr) return 2;
  meet_in_init = std::strcmp(argv[1], "init") == 0;
  void (*init)() = nullptr;
  Find(grpc, "grpc_version_string", version);
  Find(grpc, "gpr_cpu_num_cores", cores);
  Find(grpc, "grpc_init", init);
  std::thread initialising(init);
  in_its_midst.wait(false);
  if (dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  initialising.join();
  std::puts(dlopen("libskein_grpc.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr ? "served" : "not served");
}
