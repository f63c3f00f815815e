#include "grpc_transport/iomgr/grpc_internal.h"

#include <atomic>

#include "absl/strings/str_cat.h"

namespace skein::grpc_transport {
namespace {

// CoreConfiguration::config_, which is private but exported. The reference is weak: another gRPC may not have it.
extern "C" std::atomic<void*> core_configuration __asm__("_ZN9grpc_core17CoreConfiguration7config_E")
    __attribute__((weak));

}  // namespace

absl::Status LibraryMatches() {
  const absl::string_view version = grpc_version_string();
  const absl::string_view nickname = grpc_g_stands_for();
  if (version == kCoreVersion && nickname == kCoreNickname && &core_configuration != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("Skein was built for gRPC ", GRPC_CPP_VERSION_STRING, " (core ",
                                                    kCoreVersion, " ", kCoreNickname, "), but this process runs core ",
                                                    version, " ", nickname, "; rebuild it against the installed gRPC"));
}

absl::Status NotTooLate() {
  if (core_configuration.load(std::memory_order_acquire) == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "skein::grpc_transport::Init() comes too late: call it before the first channel or server is made");
}

bool KnownPollingEngine() {
  const char* name = grpc_get_poll_strategy_name();
  return name != nullptr && absl::string_view(name) == "epoll1";
}

}  // namespace skein::grpc_transport
