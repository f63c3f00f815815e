#include "grpc_transport/event_engine/log.h"

#include <cstdlib>

#include "absl/log/log.h"
#include "absl/strings/match.h"
#include "grpc_transport/common/log.h"

namespace skein::grpc_transport {
namespace {

// gRPC says all that it used to call INFO by VLOG(2), which GRPC_VERBOSITY opens. Ours go the same way.
void Write(Severity severity, const char* line) {
  static const bool verbose = [] {
    const char* const verbosity = std::getenv("GRPC_VERBOSITY");
    return verbosity != nullptr &&
           (absl::EqualsIgnoreCase(verbosity, "info") || absl::EqualsIgnoreCase(verbosity, "debug"));
  }();
  if (severity == Severity::kError) {
    LOG(ERROR) << line;
  } else if (verbose) {
    LOG(INFO) << line;
  }
}

}  // namespace

void UseGrpcsLog() { SetLogWriter(&Write); }

}  // namespace skein::grpc_transport
