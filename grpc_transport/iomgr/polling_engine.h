// gRPC's polling engine epoll1, whose threads poll the busy links themselves before they sleep in it. To be woken costs
// more than a small call takes; a thread that waits for one finds it sooner by looking.
//
// It takes epoll1's place in gRPC's list of engines, its name too, and hands on to it what it does not do itself. Of a
// pollset it replaces Work and Kick: who spins belongs to no pollset of epoll1's yet, so kicks that may be for it are
// kept here.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_POLLING_ENGINE_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_POLLING_ENGINE_H_

#include "core/wait/busy_set.h"
#include "core/wait/spin_budget.h"

namespace skein::grpc_transport {

// Once, before the first grpc_init: after it, gRPC keeps the engine that it has, and its threads wait for descriptors
// alone. `busy` lives for ever.
void RegisterPollingEngine(wait::BusySet* busy, const wait::SpinPolicy& policy);

// Runs what has become ready of gRPC's descriptors, as a thread does that waits for a call; does not wait. With an
// ExecCtx, and no lock. For those who wait where perhaps no thread does: between calls that fail at once, gRPC itself
// looks only each 5 s.
void LookAtDescriptorsNow();

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_POLLING_ENGINE_H_
