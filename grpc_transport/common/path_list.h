// gRPC's connections among the process's live paths, for Paths() and the log.
#ifndef SKEIN_GRPC_TRANSPORT_COMMON_PATH_LIST_H_
#define SKEIN_GRPC_TRANSPORT_COMMON_PATH_LIST_H_

#include <skein/grpc.h>

#include <memory>

#include "core/inspect/live_paths.h"

namespace skein::grpc_transport {

// Held by a connection's endpoint: the path is listed until it is destroyed.
using ListedPath = std::unique_ptr<inspect::LivePaths::Entry>;

// Logs it, too.
ListedPath ListPath(const Path& path);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_COMMON_PATH_LIST_H_
