#include <dlfcn.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/skein/doctor/checks.h"

namespace skein::doctor {
namespace {

constexpr absl::string_view kKnownCore = SKEIN_KNOWN_CORE;  // "29.0.0"
constexpr absl::string_view kKnownGrpc = SKEIN_KNOWN_GRPC;  // "1.51.1"

// Under the name that programs built for the known version load, else under the one that compilers look for.
void* OpenLibrary() {
  const std::pair<absl::string_view, absl::string_view> major = absl::StrSplit(kKnownCore, absl::MaxSplits('.', 1));
  void* const library = dlopen(absl::StrCat("libgrpc.so.", major.first).c_str(), RTLD_LAZY | RTLD_LOCAL);
  return library != nullptr ? library : dlopen("libgrpc.so", RTLD_LAZY | RTLD_LOCAL);
}

}  // namespace

void CheckGrpcLibrary(Report& report) {
  const std::string advice =
      absl::StrCat("this Skein plugs into the shared libgrpc of gRPC ", kKnownGrpc,
                   "; programs with another keep to TCP, unless Skein's library for theirs is here, too");
  void* const library = OpenLibrary();  // stays open: it has threads and exit handlers of its own
  if (library == nullptr) return report.Warn("no libgrpc here", advice);
  const auto version = reinterpret_cast<const char* (*)()>(dlsym(library, "grpc_version_string"));
  if (version == nullptr) return report.Fail("a libgrpc without a version", advice);
  if (version() != kKnownCore) {
    return report.Fail(absl::StrCat("libgrpc says ", version(), ", not ", kKnownCore), advice);
  }
  report.Ok(absl::StrCat("libgrpc ", kKnownCore, ": gRPC ", kKnownGrpc, ", which Skein was built for"));
}

}  // namespace skein::doctor
