#include "grpc_transport/preload/served.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "grpc_transport/preload/asked.h"
#include "grpc_transport/preload/serve.h"

namespace skein::preload {
namespace {

__thread void* once_init __attribute__((tls_model("initial-exec"))) = nullptr;

// What has become of the one gRPC that Skein finds: null while nobody knows, "" when it is served, else why not.
std::atomic<const char*> outcome{nullptr};

// Beside the stub, unless the program has brought one along.
void* OpenSkein(const char** why) {
  if (void* const loaded = HandleOf(kLibrary); loaded != nullptr) return loaded;
  const char* const path = OwnPath();
  const char* const slash = path == nullptr ? nullptr : strrchr(path, '/');
  char beside[PATH_MAX];
  const int length =
      slash == nullptr ? -1
                       : snprintf(beside, sizeof(beside), "%.*s%s", static_cast<int>(slash + 1 - path), path, kLibrary);
  if (length < 0 || length >= static_cast<int>(sizeof(beside))) {
    *why = "the folder of the preload library is not known";
    return nullptr;
  }
  void* const opened = dlopen(beside, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    const char* const error = dlerror();
    const char* const kept = error == nullptr ? nullptr : strdup(error);
    *why = kept == nullptr ? "libskein_grpc.so.1 cannot be opened" : kept;
  }
  return opened;
}

// Skein is linked to a SONAME: whatever object has that first is the one that it plugs into.
bool IsTheOneSkeinFinds(const LoadedObject& grpc) {
  void* const handle = HandleOf(kServedName);
  if (handle == nullptr) return false;
  const void* const function = dlsym(handle, "grpc_version_string");
  dlclose(handle);
  return grpc.Has(reinterpret_cast<uintptr_t>(function));
}

const char* OpenAndServe(const Asked& asked, const void* inside) {
  const char* why = nullptr;
  void* const skein = OpenSkein(&why);
  if (skein == nullptr) return why;
  const auto serve = reinterpret_cast<ServeFunction>(dlsym(skein, kServe));
  if (serve == nullptr) return "libskein_grpc.so.1 is of another version than the preload library";
  once_init = RealFunction("gpr_once_init", inside);
  if (once_init == nullptr) return "this gRPC has no gpr_once_init";
  why = serve(asked.variables);
  once_init = nullptr;
  return why == nullptr ? "" : why;
}

// No lock of ours: a thread may come here holding the dynamic linker's (a plug-in's constructor), while another one
// waits for that in OpenSkein. All do the same, and Init() does its part once. The first outcome counts.
const char* Outcome(const Asked& asked, const void* inside) {
  const char* known = outcome.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  const char* const mine = OpenAndServe(asked, inside);
  return outcome.compare_exchange_strong(known, mine, std::memory_order_acq_rel) ? mine : known;
}

}  // namespace

void* OnceInitWhileServing() { return once_init; }

const char* Serve(const LoadedObject& grpc, const void* inside) {
  const Asked* const asked = WhatIsAsked();
  if (asked == nullptr) return nullptr;
  if (strcmp(grpc.name, kServedName) != 0) return kWhyOthersAreNot;
  if (!IsTheOneSkeinFinds(grpc)) return "there are several libraries of this name in the process";
  const char* const why = Outcome(*asked, inside);
  return why[0] == '\0' ? nullptr : why;
}

void Complain(const LoadedObject& grpc, const char* why, const char* mode) {
  static std::atomic<bool> said{false};
  if (Is(mode, "off") || said.exchange(true, std::memory_order_relaxed)) return;
  const bool inside = grpc.is_program();
  const char* const what = !Is(mode, "require") ? "stays on TCP"
                           : inside             ? "stays on TCP, although the mode is require"
                                                : "makes no channel and no port, for the mode is require";
  dprintf(STDERR_FILENO, "skein: %s %s: %s\n", inside ? "the gRPC inside this program" : grpc.name, what, why);
}

const char* OwnPath() {
  static std::atomic<const char*> known{nullptr};
  const char* path = known.load(std::memory_order_acquire);
  if (path != nullptr) return path;
  // The dynamic linker never unloads what it has preloaded: its copy of the path stays.
  path = ObjectOf(reinterpret_cast<const void*>(&OwnPath)).path;
  if (path != nullptr && path[0] != '/') path = realpath(path, nullptr);
  known.store(path, std::memory_order_release);
  return path;
}

}  // namespace skein::preload
