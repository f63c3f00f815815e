#include <skein/grpc.h>

#include <memory>
#include <string>
#include <utility>

#include "core/trace/telling.h"
#include "grpc_transport/common/channel_arguments.h"
#include "grpc_transport/common/log.h"
#include "grpc_transport/iomgr/call_filters.h"
#include "grpc_transport/iomgr/call_origin.h"
#include "grpc_transport/iomgr/calls/call_stages.h"
#include "grpc_transport/iomgr/first_bytes.h"
#include "grpc_transport/iomgr/handshaker.h"
#include "grpc_transport/iomgr/runtime.h"
#include "grpc_transport/iomgr/settings.h"

namespace skein {
namespace grpc_transport {
namespace {

using grpc_core::ChannelArgs;
using grpc_core::CoreConfiguration;
using grpc_core::HandshakeManager;
using grpc_core::MakeRefCounted;

// After TCP (and a proxy) connected, before TLS begins.
class Factory : public grpc_core::HandshakerFactory {
 public:
  HandshakerPriority Priority() override { return HandshakerPriority::kReadAheadSecurityHandshakers; }
};

absl::StatusOr<Options> OptionsOf(const ChannelArgs& args) {
  return grpc_transport::OptionsOf(Runtime::Get().environment(), args);
}

class ClientFactory final : public Factory {
 public:
  void AddHandshakers(const ChannelArgs& args, grpc_pollset_set* interested_parties,
                      HandshakeManager* manager) override {
    if (!args.Contains(GRPC_ARG_SERVER_URI)) return;  // not a channel: one of gRPC's own errands over HTTP
    absl::StatusOr<Options> options = OptionsOf(args);
    if (IsOff(options)) return;
    Runtime::Get().state().WarnOnce();
    manager->Add(NewClientHandshaker(std::move(options), args, interested_parties));
  }
};

class ServerFactory final : public Factory {
 public:
  void AddHandshakers(const ChannelArgs& args, grpc_pollset_set* /*interested_parties*/,
                      HandshakeManager* manager) override {
    absl::StatusOr<Options> options = OptionsOf(args);
    if (IsOff(options)) return;
    Runtime::Get().state().WarnOnce();
    manager->Add(NewServerHandshaker(std::move(options)));
  }
};

// Gives each client channel FirstBytes as its last handshaker.
class FirstBytesFactory final : public grpc_core::HandshakerFactory {
 public:
  // gRPC names no priority behind TLS.
  HandshakerPriority Priority() override {
    return static_cast<HandshakerPriority>(static_cast<int>(HandshakerPriority::kSecurityHandshakers) + 1);
  }
  void AddHandshakers(const ChannelArgs& args, grpc_pollset_set* /*interested_parties*/,
                      HandshakeManager* manager) override {
    if (!args.Contains(GRPC_ARG_SERVER_URI) || IsOff(OptionsOf(args))) return;
    manager->Add(MakeRefCounted<FirstBytes>());
  }
};

// For gRPC to know the name, and not complain of it. Skein reads GRPC_TRACE itself (Traces): a preloaded Skein may come
// when gRPC has read it.
grpc_core::TraceFlag trace_flag(/*default_enabled=*/false, "skein");

void WriteToGrpcsLog(Severity severity, const char* line) {
  gpr_log(__FILE__, __LINE__, severity == Severity::kInfo ? GPR_LOG_SEVERITY_INFO : GPR_LOG_SEVERITY_ERROR, "%s", line);
}

// Nothing else would tell: all works, only not as fast.
void SayIfLate(const Options& environment) {
  if (grpc_is_initialized() == 0 || environment.wait_mode == WaitMode::kBlock) return;
  gpr_log(GPR_ERROR,
          "skein: Init() came after grpc_init(), or after an object of gRPC's: threads that wait will sleep at "
          "once and not spin first. Call Init() before, or set SKEIN_WAIT_MODE=block");
}

absl::Status Register() {
  if (absl::Status status = LibraryMatches(); !status.ok()) return status;
  if (absl::Status status = NotTooLate(); !status.ok()) return status;
  SetLogWriter(&WriteToGrpcsLog);
  Runtime& runtime = Runtime::Get();
  SayIfLate(runtime.environment().options);
  CoreConfiguration::RegisterBuilder([](CoreConfiguration::Builder* builder) {
    auto* registry = builder->handshaker_registry();
    registry->RegisterHandshakerFactory(grpc_core::HANDSHAKER_CLIENT, std::make_unique<ClientFactory>());
    registry->RegisterHandshakerFactory(grpc_core::HANDSHAKER_CLIENT, std::make_unique<FirstBytesFactory>());
    registry->RegisterHandshakerFactory(grpc_core::HANDSHAKER_SERVER, std::make_unique<ServerFactory>());
    RegisterCallFilters(builder);
    RegisterCallTransport(builder);
    RegisterCallOrigin(builder, [](const ChannelArgs& args) { return !IsOff(OptionsOf(args)); });
  });
  return Checked(runtime.environment().options, runtime.environment().error).status();
}

}  // namespace

absl::Status Init() {
  static const auto* const status = new absl::Status(Register());
  return *status;
}

absl::Status TraceCalls(uint32_t every, OnTracedCall on_call) { return trace::TellCalls(every, std::move(on_call)); }

}  // namespace grpc_transport

}  // namespace skein
