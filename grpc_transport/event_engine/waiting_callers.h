// Threads of the program that wait for a completion queue poll the busy links themselves before they sleep in gRPC: to
// be woken costs more than a small call takes. gRPC has no hook for that, so its two functions that wait are interposed
// (interposed.cc): each call comes here, with the real function.
//
// All of it is an offer to callers: where nothing is interposed, or in mode block, the poller's own threads bring what
// comes, and callers sleep until then.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_WAITING_CALLERS_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_WAITING_CALLERS_H_

#include <grpc/grpc.h>

#include "core/wait/spin_budget.h"
#include "grpc_transport/event_engine/link_poller.h"

namespace skein::grpc_transport {

// From now on callers poll what `poller`, which lives forever, has busy. Once, before the first Watch; in mode block it
// changes nothing.
void LetCallersPoll(LinkPoller* poller, const wait::SpinPolicy& policy);

// What grpc_completion_queue_pluck and _next promise, by the real functions. Any thread: a callback of gRPC's, too,
// that runs on a thread which polls.
using PluckFunction = grpc_event(grpc_completion_queue* queue, void* tag, gpr_timespec deadline, void* reserved);
using NextFunction = grpc_event(grpc_completion_queue* queue, gpr_timespec deadline, void* reserved);
grpc_event PollAndPluck(PluckFunction* real, grpc_completion_queue* queue, void* tag, gpr_timespec deadline,
                        void* reserved);
grpc_event PollAndNext(NextFunction* real, grpc_completion_queue* queue, gpr_timespec deadline, void* reserved);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_WAITING_CALLERS_H_
