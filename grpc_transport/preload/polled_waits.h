// Threads that wait for a completion queue of the gRPC that is served: Skein has them poll, if it says how.
#ifndef SKEIN_GRPC_TRANSPORT_PRELOAD_POLLED_WAITS_H_
#define SKEIN_GRPC_TRANSPORT_PRELOAD_POLLED_WAITS_H_

namespace skein::preload {

// `skein`: the library that serves the gRPC behind `grpc` (both handles of the dynamic linker's). From now on waits for
// its queues go by way of the library; nothing changes if the library does not want that. Any thread.
void PollInWaits(void* skein, void* grpc);

// In the stub's constructor: what is loaded already is asked for the real functions once.
void FindWaits();

}  // namespace skein::preload

#endif  // SKEIN_GRPC_TRANSPORT_PRELOAD_POLLED_WAITS_H_
