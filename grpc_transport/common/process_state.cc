#include "grpc_transport/common/process_state.h"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc_transport/common/log.h"

namespace skein::grpc_transport {
namespace {

// Null: the process's. Release and acquire: the thread that reads the variables sees them written.
std::atomic<const char* const*> environment_used{nullptr};

}  // namespace

void UseEnvironment(const char* const* environment) { environment_used.store(environment, std::memory_order_release); }

EnvironmentOptions ReadEnvironment() {
  const char* const* const used = environment_used.load(std::memory_order_acquire);
  return OptionsFromEnvironment({}, "SKEIN_GRPC", used == nullptr ? environ : used);
}

ProcessState::ProcessState(EnvironmentOptions environment, wait::Watcher* waiter)
    : environment_(std::move(environment)), streams_(waiter) {}

void ProcessState::WarnOnce() {
  if (environment_.warning.empty() || warned_.exchange(true, std::memory_order_relaxed)) return;
  Log(Severity::kError, absl::StrCat("skein: ", environment_.warning));
}

}  // namespace skein::grpc_transport
