// libskein_grpc_preload.so: serves programs that know nothing of Skein. LD_PRELOAD puts it into every child process, so
// it needs nothing but the C library, and opens the rest of Skein only for a gRPC that Skein can serve.
//
// It stands before a few of gRPC's own functions: the dynamic linker finds the stub's first, whoever calls them, and
// however late gRPC was loaded. The README of grpc_transport says why these, and why not dlopen.
#include <dlfcn.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/sync.h>
#include <string.h>

#include <atomic>

#include "grpc_transport/preload/asked.h"
#include "grpc_transport/preload/loaded_object.h"
#include "grpc_transport/preload/polled_waits.h"
#include "grpc_transport/preload/served.h"

// How a function of gRPC's is given another body. Some are of versions that this header does not know any more.
#define SKEIN_STANDS_BEFORE extern "C" __attribute__((visibility("default")))
#define SKEIN_CALLER __builtin_return_address(0)

namespace skein::preload {
namespace {

// ---- Before gRPC's first step ----

using OnceInit = decltype(gpr_once_init);

// Objects that call gpr_once_init: gRPC's libraries. Each grpc_init does, so their real function is kept.
struct Caller {
  std::atomic<uintptr_t> end;  // release, when the rest is there; 0: nobody's yet
  uintptr_t begin;
  OnceInit* real;
};
constexpr int kMostCallers = 16;  // a process has three or four; further ones only take longer
Caller callers[kMostCallers];
std::atomic<int> claimed{0};

OnceInit* KnownOnceInit(const void* address_in_caller) {
  const auto address = reinterpret_cast<uintptr_t>(address_in_caller);
  for (const Caller& caller : callers) {
    const uintptr_t end = caller.end.load(std::memory_order_acquire);
    if (address < end && address >= caller.begin) return caller.real;
  }
  return nullptr;
}

// Two threads may both add one, which does no harm.
void Keep(const LoadedObject& object, OnceInit* real) {
  if (object.end == 0 || claimed.load(std::memory_order_relaxed) >= kMostCallers) return;
  // Never unloaded: its addresses must not become another object's.
  if (dlopen(object.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) == nullptr) return;
  const int place = claimed.fetch_add(1, std::memory_order_relaxed);
  if (place >= kMostCallers) return;
  callers[place].begin = object.begin;
  callers[place].real = real;
  callers[place].end.store(object.end, std::memory_order_release);
}

// A caller is kept when Skein has done its part, so that threads that come meanwhile wait for that here, too.
OnceInit* MeetCaller(const void* address) {
  if (void* const meanwhile = OnceInitWhileServing(); meanwhile != nullptr) {
    return reinterpret_cast<OnceInit*>(meanwhile);
  }
  OnceInit* const real = RealOf("gpr_once_init", address, &gpr_once_init);
  if (real == nullptr) return nullptr;
  const LoadedObject caller = ObjectOf(address);
  if (caller.end == 0) return real;
  if (WhatIsAsked() != nullptr && IsForSkein(caller)) {
    if (const char* const why = Serve(caller, address); why != nullptr) Complain(caller, why, WhatIsAsked()->mode);
  }
  // The library with the real function calls it, too, in the midst of grpc_init. The stub must not ask the dynamic
  // linker then: another thread may wait for gRPC's lock with the dynamic linker's in its hands.
  Keep(ObjectOf(reinterpret_cast<void*>(real)), real);
  Keep(caller, real);
  return real;
}

// ---- Before each channel and each port of a server ----

constexpr char kRefused[] =
    "skein: the mode is require, and this gRPC is none that Skein can serve here; standard error says why";

// The argument skein.mode, which wins over the environment; null if there is none.
const char* ModeArgument(const grpc_channel_args* arguments) {
  for (size_t i = 0; arguments != nullptr && i < arguments->num_args; ++i) {
    const grpc_arg& argument = arguments->args[i];
    if (argument.type == GRPC_ARG_STRING && strcmp(argument.key, "skein.mode") == 0) return argument.value.string;
  }
  return nullptr;
}

// Whether what the gRPC with this function is about to make would be on TCP in spite of mode require.
bool IsRefused(const void* real, const char* mode_argument) {
  const Asked* const asked = WhatIsAsked();
  if (asked == nullptr) return false;
  const LoadedObject grpc = ObjectOf(real);
  const char* const why = grpc.end == 0 ? nullptr : Serve(grpc, real);
  if (why == nullptr) return false;
  const char* const mode = mode_argument == nullptr ? asked->mode : mode_argument;
  Complain(grpc, why, mode);
  return Is(mode, "require");
}

// A channel on which each call fails and says why; none if this gRPC cannot even do that.
grpc_channel* RefusedChannel(const char* target, const void* caller) {
  auto* const lame = RealOf("grpc_lame_client_channel_create", caller, &grpc_lame_client_channel_create);
  return lame == nullptr ? nullptr : lame(target, GRPC_STATUS_UNAVAILABLE, kRefused);
}

[[gnu::constructor]] void Begin() {
  FindWaits();
  const Asked* const asked = WhatIsAsked();
  if (asked == nullptr) return;
  OwnPath();
  if (ProgramHas("grpc_init")) {
    // Its calls do not come by the dynamic linker: saying so is all that can be done.
    return Complain(ObjectOf(dlsym(RTLD_DEFAULT, "grpc_init")), kWhyOthersAreNot, asked->mode);
  }
  // Before main where that is possible: later the process may be in a chroot, or another user's.
  const void* const init = dlsym(RTLD_NEXT, "grpc_init");
  if (init == nullptr) return;
  const LoadedObject grpc = ObjectOf(init);
  if (grpc.end == 0 || !IsForSkein(grpc)) return;  // its first channel or port says the rest
  if (const char* const why = Serve(grpc, init); why != nullptr) Complain(grpc, why, asked->mode);
}

}  // namespace

SKEIN_STANDS_BEFORE void gpr_once_init(gpr_once* once, void (*function)()) {
  OnceInit* real = KnownOnceInit(SKEIN_CALLER);
  if (real == nullptr) real = MeetCaller(SKEIN_CALLER);
  if (real != nullptr) real(once, function);
}

// The grpc_channel_create of gRPC 1.47 and later; the next two are its forerunners.
SKEIN_STANDS_BEFORE grpc_channel* grpc_channel_create(const char* target, grpc_channel_credentials* credentials,
                                                      const grpc_channel_args* arguments) {
  auto* const real = RealOf("grpc_channel_create", SKEIN_CALLER, &grpc_channel_create);
  if (real == nullptr) return nullptr;
  if (IsRefused(reinterpret_cast<void*>(real), ModeArgument(arguments))) return RefusedChannel(target, SKEIN_CALLER);
  return real(target, credentials, arguments);
}

SKEIN_STANDS_BEFORE grpc_channel* grpc_insecure_channel_create(const char* target, const grpc_channel_args* arguments,
                                                               void* reserved) {
  auto* const real = RealOf("grpc_insecure_channel_create", SKEIN_CALLER, &grpc_insecure_channel_create);
  if (real == nullptr) return nullptr;
  if (IsRefused(reinterpret_cast<void*>(real), ModeArgument(arguments))) return RefusedChannel(target, SKEIN_CALLER);
  return real(target, arguments, reserved);
}

SKEIN_STANDS_BEFORE grpc_channel* grpc_secure_channel_create(grpc_channel_credentials* credentials, const char* target,
                                                             const grpc_channel_args* arguments, void* reserved) {
  auto* const real = RealOf("grpc_secure_channel_create", SKEIN_CALLER, &grpc_secure_channel_create);
  if (real == nullptr) return nullptr;
  if (IsRefused(reinterpret_cast<void*>(real), ModeArgument(arguments))) return RefusedChannel(target, SKEIN_CALLER);
  return real(credentials, target, arguments, reserved);
}

// The port, and 0 for none. Again that of gRPC 1.47 and later, and its forerunners.
SKEIN_STANDS_BEFORE int grpc_server_add_http2_port(grpc_server* server, const char* address,
                                                   grpc_server_credentials* credentials) {
  auto* const real = RealOf("grpc_server_add_http2_port", SKEIN_CALLER, &grpc_server_add_http2_port);
  if (real == nullptr || IsRefused(reinterpret_cast<void*>(real), nullptr)) return 0;
  return real(server, address, credentials);
}

SKEIN_STANDS_BEFORE int grpc_server_add_insecure_http2_port(grpc_server* server, const char* address) {
  auto* const real = RealOf("grpc_server_add_insecure_http2_port", SKEIN_CALLER, &grpc_server_add_insecure_http2_port);
  if (real == nullptr || IsRefused(reinterpret_cast<void*>(real), nullptr)) return 0;
  return real(server, address);
}

SKEIN_STANDS_BEFORE int grpc_server_add_secure_http2_port(grpc_server* server, const char* address,
                                                          grpc_server_credentials* credentials) {
  auto* const real = RealOf("grpc_server_add_secure_http2_port", SKEIN_CALLER, &grpc_server_add_secure_http2_port);
  if (real == nullptr || IsRefused(reinterpret_cast<void*>(real), nullptr)) return 0;
  return real(server, address, credentials);
}

}  // namespace skein::preload
