// What a connection is to do: the environment's options, changed by the channel's or the server's arguments.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_SETTINGS_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_SETTINGS_H_

#include <grpc/grpc.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/options.h"
#include "grpc_transport/event_engine/engine_types.h"

namespace skein::grpc_transport {

// INVALID_ARGUMENT naming the wrong option and what is allowed; not with mode off. An EndpointConfig cannot be listed:
// an argument "skein.…" that is no option is not noticed.
absl::StatusOr<Options> OptionsOf(const EnvironmentOptions& environment, const EndpointConfig& config);

// What TCP needs to know for a second connection: gRPC's own config is there only while it asks for the first.
class KeptConfig final : public EndpointConfig {
 public:
  explicit KeptConfig(const EndpointConfig& config);
  // Whether nothing is in `config` that only gRPC can keep.
  static bool CanKeep(const EndpointConfig& config);

  std::optional<int> GetInt(absl::string_view key) const override;
  std::optional<absl::string_view> GetString(absl::string_view /*key*/) const override { return std::nullopt; }
  void* GetVoidPointer(absl::string_view key) const override;

 private:
  std::map<std::string, int, std::less<>> ints_;
  // A share of gRPC's; null if there is none.
  std::unique_ptr<grpc_resource_quota, void (*)(grpc_resource_quota*)> quota_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_SETTINGS_H_
