// Which gRPC Skein serves in this process, and why not another.
#ifndef SKEIN_GRPC_TRANSPORT_PRELOAD_SERVED_H_
#define SKEIN_GRPC_TRANSPORT_PRELOAD_SERVED_H_

#include "grpc_transport/preload/loaded_object.h"

namespace skein::preload {

// The SONAME of the gRPC that this build of Skein is for: "libgrpc.so.29".
inline constexpr char kServedName[] = SKEIN_SERVED_NAME;

// Of a gRPC that no library of Skein's beside the stub is for.
inline constexpr char kWhyOthersAreNot[] = "Skein serves " SKEIN_SERVED_NAME " of gRPC " SKEIN_SERVED_GRPC
                                           " only; for another libgrpc.so.N it takes a libskein_grpc-N.so.1 beside "
                                           "the preload library";

// Whether it is a libgrpc.so.N, and a library of Skein's is there for it. Any thread.
bool IsForSkein(const LoadedObject& grpc);

// Opens Skein for this gRPC, unless that has been done, or nobody asks for it. Null: it is served, or nobody asks. Else
// why not; valid forever. When it returns, no other thread is still at it: what the caller does next with gRPC comes
// after Init(). `inside` is an address in it. Any thread, also one that holds the dynamic linker's lock.
const char* Serve(const LoadedObject& grpc, const void* inside);

// The real gpr_once_init while this thread is in Init(), else null. gRPC calls gpr_once_init there, and the stub must
// ask nothing of the dynamic linker then: Init() runs under a lock, and another thread may wait for that lock while it
// holds the dynamic linker's.
void* OnceInitWhileServing();

// One line for the process, the first time that something is not served; nothing in mode off.
void Complain(const LoadedObject& grpc, const char* why, const char* mode);

// Where this library is; null if that is not known. The first call counts: LD_PRELOAD may have it relative to a folder
// that the process leaves.
const char* OwnPath();

}  // namespace skein::preload

#endif  // SKEIN_GRPC_TRANSPORT_PRELOAD_SERVED_H_
