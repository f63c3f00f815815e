#include "grpc_transport/common/log.h"

#include <atomic>
#include <cstdlib>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace skein::grpc_transport {
namespace {

// Relaxed: it is an address of code, and nothing comes with it.
std::atomic<LogWriter> log_writer{nullptr};

}  // namespace

void SetLogWriter(LogWriter writer) { log_writer.store(writer, std::memory_order_relaxed); }

void Log(Severity severity, const std::string& line) {
  if (const LogWriter writer = log_writer.load(std::memory_order_relaxed); writer != nullptr) {
    writer(severity, line.c_str());
  }
}

bool Traces() {
  const char* const asked = std::getenv("GRPC_TRACE");
  return asked != nullptr && AsksForTrace(asked);
}

bool AsksForTrace(absl::string_view grpc_trace) {
  bool asks = false;
  for (absl::string_view name : absl::StrSplit(grpc_trace, ',')) {
    const bool on = !absl::ConsumePrefix(&name, "-");
    if (name == "skein" || name == "all") asks = on;
  }
  return asks;
}

}  // namespace skein::grpc_transport
