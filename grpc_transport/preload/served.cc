#include "grpc_transport/preload/served.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "grpc_transport/preload/asked.h"
#include "grpc_transport/preload/from_descriptors.h"
#include "grpc_transport/preload/polled_waits.h"
#include "grpc_transport/preload/serve.h"

namespace skein::preload {
namespace {

__thread void* once_init __attribute__((tls_model("initial-exec"))) = nullptr;

// What has become of the one gRPC that Skein finds.
struct Outcome {
  char name[32];    // its SONAME
  const char* why;  // it is not served; null: it is
};
std::atomic<const Outcome*> outcome{nullptr};  // null while nobody knows

// The N of "libgrpc.so.N", null if it is no such name. libgrpc_unsecure.so.N is none.
const char* NumberOf(const char* soname) {
  constexpr char kBegin[] = "libgrpc.so.";
  if (strncmp(soname, kBegin, strlen(kBegin)) != 0) return nullptr;
  const char* const number = soname + strlen(kBegin);
  return *number != '\0' && strspn(number, "0123456789") == strlen(number) ? number : nullptr;
}

// The file name of the library that serves this gRPC; false if there can be none.
bool LibraryFor(const char* soname, char (&library)[64]) {
  const char* const number = NumberOf(soname);
  if (number == nullptr) return false;
  const int length = strcmp(soname, kServedName) == 0
                         ? snprintf(library, sizeof(library), "%s", kLibrary)
                         : snprintf(library, sizeof(library), "libskein_grpc-%s.so.1", number);
  return length > 0 && length < static_cast<int>(sizeof(library));
}

// Where a file of this name is, or would be, beside the stub; false if that is not known.
bool Beside(const char* name, char (&path)[PATH_MAX]) {
  const char* const own = OwnPath();
  const char* const slash = own == nullptr ? nullptr : strrchr(own, '/');
  if (slash == nullptr) return false;
  const int length = snprintf(path, sizeof(path), "%.*s%s", static_cast<int>(slash + 1 - own), own, name);
  return length > 0 && length < static_cast<int>(sizeof(path));
}

// Beside the stub, unless the program has brought one along, which is for the same gRPC as the program.
void* OpenSkein(const char* library, const char** why) {
  if (void* const loaded = HandleOf(kLibrary); loaded != nullptr) return loaded;
  char beside[PATH_MAX];
  if (!Beside(library, beside)) {
    *why = "the folder of the preload library is not known";
    return nullptr;
  }
  void* const opened = dlopen(beside, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    const char* const error = dlerror();
    const char* const kept = error == nullptr ? nullptr : strdup(error);
    *why = kept == nullptr ? "Skein's library cannot be opened" : kept;
  }
  return opened;
}

// Whether the gRPC that the handle's object, or else one that it needs, has is this one.
bool Finds(void* handle, const LoadedObject& grpc) {
  return grpc.Has(reinterpret_cast<uintptr_t>(dlsym(handle, "grpc_version_string")));
}

// Skein is linked to a SONAME: whatever object has that first is the one that it plugs into.
bool IsTheOneSkeinFinds(const LoadedObject& grpc) {
  void* const handle = HandleOf(grpc.name);
  if (handle == nullptr) return false;
  const bool finds = Finds(handle, grpc);
  dlclose(handle);
  return finds;
}

// Null when it is served.
const char* OpenAndServe(const Asked& asked, const LoadedObject& grpc, const void* inside) {
  char library[64];
  if (!LibraryFor(grpc.name, library)) return kWhyOthersAreNot;
  const char* why = nullptr;
  void* const skein = OpenSkein(library, &why);
  if (skein == nullptr) return why;
  const auto serve = reinterpret_cast<ServeFunction>(dlsym(skein, kServe));
  if (serve == nullptr) return "Skein's library is of another version than the preload library";
  if (!Finds(skein, grpc)) return "Skein's library is for another gRPC than this";
  once_init = RealFunction("gpr_once_init", inside);
  if (once_init == nullptr) return "this gRPC has no gpr_once_init";
  why = serve(asked.variables);
  once_init = nullptr;
  if (void* const handle = HandleOf(grpc.name); why == nullptr && handle != nullptr) {
    PollInWaits(skein, handle);
    TellOfDescriptors(skein);
  }
  return why;
}

// No lock of ours: a thread may come here holding the dynamic linker's (a plug-in's constructor), while another one
// waits for that in OpenSkein. All do the same, and Init() does its part once. The first outcome counts. Null: there is
// no memory for it.
const Outcome* OutcomeOf(const Asked& asked, const LoadedObject& grpc, const void* inside) {
  const Outcome* known = outcome.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  auto* const mine = static_cast<Outcome*>(malloc(sizeof(Outcome)));
  if (mine == nullptr) return nullptr;
  snprintf(mine->name, sizeof(mine->name), "%s", grpc.name);
  mine->why = OpenAndServe(asked, grpc, inside);
  return outcome.compare_exchange_strong(known, mine, std::memory_order_acq_rel) ? mine : known;
}

}  // namespace

void* OnceInitWhileServing() { return once_init; }

const char* Serve(const LoadedObject& grpc, const void* inside) {
  const Asked* const asked = WhatIsAsked();
  if (asked == nullptr) return nullptr;
  if (!IsForSkein(grpc)) return kWhyOthersAreNot;
  if (!IsTheOneSkeinFinds(grpc)) return "there are several libraries of this name in the process";
  const Outcome* const known = OutcomeOf(*asked, grpc, inside);
  if (known == nullptr) return "there is no memory";
  return strcmp(known->name, grpc.name) == 0 ? known->why : "Skein is busy with another libgrpc.so of this process";
}

bool IsForSkein(const LoadedObject& grpc) {
  if (strcmp(grpc.name, kServedName) == 0) return true;
  char library[64];
  char beside[PATH_MAX];
  return LibraryFor(grpc.name, library) && Beside(library, beside) && access(beside, R_OK) == 0;
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
