// gRPC's log, which each adapter knows how to write to.
#ifndef SKEIN_GRPC_TRANSPORT_COMMON_LOG_H_
#define SKEIN_GRPC_TRANSPORT_COMMON_LOG_H_

#include <string>

#include "absl/strings/string_view.h"

namespace skein::grpc_transport {

enum class Severity { kInfo, kError };

using LogWriter = void (*)(Severity severity, const char* line);

// The adapter's Init(), before the first connection. Lines are dropped until then. Any thread.
void SetLogWriter(LogWriter writer);

// `line` says that it is Skein's. Any thread.
void Log(Severity severity, const std::string& line);

// Whether the environment's GRPC_TRACE asks for each step of a negotiation. Any thread.
bool Traces();
// As gRPC reads that variable: "tcp,skein", or "all", but not "all,-skein".
bool AsksForTrace(absl::string_view grpc_trace);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_COMMON_LOG_H_
