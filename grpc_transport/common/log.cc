#include "grpc_transport/common/log.h"

#include <atomic>

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

}  // namespace skein::grpc_transport
