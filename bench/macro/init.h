// How the programs begin; the one difference between the plain ones and the Skein ones.
#ifndef SKEIN_BENCH_MACRO_INIT_H_
#define SKEIN_BENCH_MACRO_INIT_H_

#include <grpc/grpc.h>

#include <vector>

#include "absl/time/time.h"

namespace skein::bench {

// After InitTransport: gRPC stays until the process ends. Its shutdown may take ten seconds, until a poller that nobody
// needs any more has slept enough (grpc_core::Executor::ShutdownAll joins one that tcp_posix.cc has started).
inline void KeepGrpc() { grpc_init(); }

// Defined by plain_init.cc (does nothing) or skein_init.cc (skein::grpc_transport::Init). Exits when it fails.
void InitTransport();

// The time of each call of this process, as the sum of its stages, from BeginStages to EndStages: by
// skein_init.cc, and if BENCH_STAGES is set in the environment; otherwise none.
void BeginStages();
std::vector<absl::Duration> EndStages();

// Value of the channel argument skein.mode, or null for none.
const char* SkeinMode();

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MACRO_INIT_H_
