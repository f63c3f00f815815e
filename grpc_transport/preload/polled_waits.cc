#include "grpc_transport/preload/polled_waits.h"

#include <dlfcn.h>
#include <grpc/grpc.h>
#include <link.h>
#include <stdlib.h>

#include <atomic>

#include "grpc_transport/preload/loaded_object.h"
#include "grpc_transport/preload/serve.h"

namespace skein::preload {
namespace {

using Pluck = decltype(grpc_completion_queue_pluck);
using Next = decltype(grpc_completion_queue_next);
using PollAndPluck = grpc_event(Pluck* real, grpc_completion_queue* queue, void* tag, gpr_timespec deadline,
                                void* reserved);
using PollAndNext = grpc_event(Next* real, grpc_completion_queue* queue, gpr_timespec deadline, void* reserved);

// Of the one gRPC that is served. Written once, and valid forever.
struct Polled {
  Pluck* pluck;
  Next* next;
  PollAndPluck* poll_and_pluck;
  PollAndNext* poll_and_next;
};
// Release when it is written; acquire by each wait.
std::atomic<const Polled*> polled{nullptr};

int CountUnloaded(dl_phdr_info* info, size_t /*size*/, void* count) {
  *static_cast<unsigned long long*>(count) = info->dlpi_subs;
  return 1;
}

// How many objects the dynamic linker has unloaded: as long as this stays, an address is in the object it was in.
unsigned long long Unloaded() {
  unsigned long long count = 0;
  dl_iterate_phdr(&CountUnloaded, &count);
  return count;
}

// The function of a caller that has come before on this thread: waits are many, and to ask the dynamic linker costs
// more than a small call takes.
template <typename Function>
struct Known {
  const void* caller;
  unsigned long long unloaded;
  Function* real;
};
__thread Known<Pluck> known_pluck __attribute__((tls_model("initial-exec"))) = {};
__thread Known<Next> known_next __attribute__((tls_model("initial-exec"))) = {};

// What each caller's call would reach, since the program brings it. Relaxed: an address of code, which comes alone.
std::atomic<Pluck*> pluck_of_all{nullptr};
std::atomic<Next*> next_of_all{nullptr};

template <typename Function>
Function* Real(const char* name, const void* caller, const std::atomic<Function*>& of_all, Known<Function>& known) {
  if (Function* const real = of_all.load(std::memory_order_relaxed); real != nullptr) return real;
  const unsigned long long unloaded = Unloaded();
  if (known.caller != caller || known.unloaded != unloaded) {
    known = {caller, unloaded, reinterpret_cast<Function*>(RealFunction(name, caller))};
  }
  return known.real;
}

template <typename Function>
void Find(const char* name, std::atomic<Function*>& of_all) {
  void* const real = dlsym(RTLD_NEXT, name);
  if (real == nullptr) return;
  // Never unloaded, should a library's constructor have opened it.
  const LoadedObject object = ObjectOf(real);
  if (object.end == 0 || dlopen(object.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) == nullptr) return;
  of_all.store(reinterpret_cast<Function*>(real), std::memory_order_relaxed);
}

constexpr grpc_event kNoQueue = {GRPC_QUEUE_SHUTDOWN, 0, nullptr};

}  // namespace

void PollInWaits(void* skein, void* grpc) {
  auto* const known = static_cast<Polled*>(malloc(sizeof(Polled)));
  if (known == nullptr) return;
  *known = {reinterpret_cast<Pluck*>(dlsym(grpc, "grpc_completion_queue_pluck")),
            reinterpret_cast<Next*>(dlsym(grpc, "grpc_completion_queue_next")),
            reinterpret_cast<PollAndPluck*>(dlsym(skein, kPollAndPluck)),
            reinterpret_cast<PollAndNext*>(dlsym(skein, kPollAndNext))};
  const bool all = known->pluck != nullptr && known->next != nullptr && known->poll_and_pluck != nullptr &&
                   known->poll_and_next != nullptr;
  const Polled* none = nullptr;
  if (all && polled.compare_exchange_strong(none, known, std::memory_order_release)) return;
  free(known);
}

void FindWaits() {
  Find("grpc_completion_queue_pluck", pluck_of_all);
  Find("grpc_completion_queue_next", next_of_all);
}

extern "C" __attribute__((visibility("default"))) grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue,
                                                                                         void* tag,
                                                                                         gpr_timespec deadline,
                                                                                         void* reserved) {
  Pluck* const real = Real("grpc_completion_queue_pluck", __builtin_return_address(0), pluck_of_all, known_pluck);
  if (real == nullptr) return kNoQueue;
  const Polled* const served = polled.load(std::memory_order_acquire);
  if (served == nullptr || served->pluck != real) return real(queue, tag, deadline, reserved);
  return served->poll_and_pluck(real, queue, tag, deadline, reserved);
}

extern "C" __attribute__((visibility("default"))) grpc_event grpc_completion_queue_next(grpc_completion_queue* queue,
                                                                                        gpr_timespec deadline,
                                                                                        void* reserved) {
  Next* const real = Real("grpc_completion_queue_next", __builtin_return_address(0), next_of_all, known_next);
  if (real == nullptr) return kNoQueue;
  const Polled* const served = polled.load(std::memory_order_acquire);
  if (served == nullptr || served->next != real) return real(queue, deadline, reserved);
  return served->poll_and_next(real, queue, deadline, reserved);
}

}  // namespace skein::preload
