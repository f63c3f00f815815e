#include <grpc/grpc.h>
#include <skein/grpc.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/trace/telling.h"
#include "grpc_transport/event_engine/client_tracing.h"
#include "grpc_transport/event_engine/engine.h"
#include "grpc_transport/event_engine/log.h"
#include "grpc_transport/event_engine/runtime.h"
#include "grpc_transport/event_engine/server_tracing.h"

#ifndef SKEIN_KNOWN_CORE_MAJOR
#error "the build says which gRPC this is for: SKEIN_KNOWN_CORE_MAJOR"
#endif

namespace skein::grpc_transport {
namespace {

// The EventEngine is a C++ interface that grows: each minor version of gRPC has a build of this adapter.
absl::Status LibraryMatches() {
  if (absl::string_view(SKEIN_KNOWN_CORE_MAJOR).empty())
    return absl::OkStatus();  // gRPC is a part of the program's build
  const absl::string_view version = grpc_version_string();
  if (absl::StartsWith(version, absl::StrCat(SKEIN_KNOWN_CORE_MAJOR, "."))) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("Skein was built for gRPC's core ", SKEIN_KNOWN_CORE_MAJOR, ", and this process runs ", version));
}

// With these, gRPC makes its connections without an EventEngine.
absl::Status EventEngineIsUsed() {
  const char* const experiments = std::getenv("GRPC_EXPERIMENTS");
  for (const absl::string_view each : absl::StrSplit(experiments == nullptr ? "" : experiments, ',')) {
    if (each == "-event_engine_client" || each == "-event_engine_listener") {
      return absl::FailedPreconditionError(
          absl::StrCat("GRPC_EXPERIMENTS has ", each, ": gRPC would make its connections without Skein"));
    }
  }
  return absl::OkStatus();
}

absl::Status Register() {
  if (absl::Status status = LibraryMatches(); !status.ok()) return status;
  if (absl::Status status = EventEngineIsUsed(); !status.ok()) return status;
  UseGrpcsLog();
  ServerTracing::Begin();
  Runtime& runtime = Runtime::Get();
  static auto* const engine = new std::shared_ptr<EventEngine>(
      std::make_shared<Engine>([] { return grpc_event_engine::experimental::CreateEventEngine(); }));
  grpc_event_engine::experimental::SetDefaultEventEngine(*engine);
  // Where gRPC is a part of the program, its own variables may be initialised behind this, and forget the engine.
  if (grpc_event_engine::experimental::GetDefaultEventEngine() != *engine) {
    return absl::FailedPreconditionError("gRPC has not taken Skein's engine: call Init() from main, not before");
  }
  return Checked(runtime.environment().options, runtime.environment().error).status();
}

}  // namespace

absl::Status Init() {
  static const auto* const status = new absl::Status(Register());
  return *status;
}

absl::Status TraceCalls(uint32_t every, OnTracedCall on_call) {
  if (every != 0 && on_call != nullptr) {
    if (absl::Status status = ClientTracing::Possible(); !status.ok()) return status;
    ClientTracing::Begin();
  }
  return trace::TellCalls(every, std::move(on_call));
}

}  // namespace skein::grpc_transport
