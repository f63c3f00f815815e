#include "grpc_transport/event_engine/settings.h"

#include <grpc/impl/channel_arg_names.h>

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "grpc_transport/common/channel_arguments.h"

namespace skein::grpc_transport {
namespace {

std::optional<std::string> ValueOf(const EndpointConfig& config, const std::string& key) {
  if (const auto text = config.GetString(key); text.has_value()) return std::string(*text);
  if (const auto number = config.GetInt(key); number.has_value()) return absl::StrCat(*number);
  return std::nullopt;
}

// What gRPC's engine for POSIX asks a config for, of numbers.
constexpr const char* kTcpOptions[] = {
    GRPC_ARG_TCP_READ_CHUNK_SIZE,
    GRPC_ARG_TCP_MIN_READ_CHUNK_SIZE,
    GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE,
    GRPC_ARG_TCP_TX_ZEROCOPY_ENABLED,
    GRPC_ARG_TCP_TX_ZEROCOPY_SEND_BYTES_THRESHOLD,
    GRPC_ARG_TCP_TX_ZEROCOPY_MAX_SIMULT_SENDS,
    GRPC_ARG_TCP_RECEIVE_BUFFER_SIZE,
    GRPC_ARG_KEEPALIVE_TIME_MS,
    GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
    GRPC_ARG_EXPAND_WILDCARD_ADDRS,
    GRPC_ARG_ALLOW_REUSEPORT,
    GRPC_ARG_DSCP,
};

}  // namespace

absl::StatusOr<Options> OptionsOf(const EnvironmentOptions& environment, const EndpointConfig& config) {
  Options options = environment.options;
  absl::Status error = environment.error;
  for (const OptionSpec& spec : OptionTable()) {
    const std::string key = absl::StrCat(kArgumentPrefix, spec.name);
    if (const auto value = ValueOf(config, key); value.has_value()) error.Update(SetFromArgument(options, key, *value));
  }
  return Checked(options, error);
}

KeptConfig::KeptConfig(const EndpointConfig& config)
    : quota_(static_cast<grpc_resource_quota*>(config.GetVoidPointer(GRPC_ARG_RESOURCE_QUOTA)),
             grpc_resource_quota_unref) {
  if (quota_ != nullptr) grpc_resource_quota_ref(quota_.get());
  for (const char* const key : kTcpOptions) {
    if (const auto number = config.GetInt(key); number.has_value()) ints_[key] = *number;
  }
}

bool KeptConfig::CanKeep(const EndpointConfig& config) {
  return config.GetVoidPointer(GRPC_ARG_SOCKET_MUTATOR) == nullptr;
}

std::optional<int> KeptConfig::GetInt(absl::string_view key) const {
  const auto found = ints_.find(key);
  return found == ints_.end() ? std::nullopt : std::optional(found->second);
}

// gRPC 1.83 ends the process for want of a quota.
void* KeptConfig::GetVoidPointer(absl::string_view key) const {
  return key == GRPC_ARG_RESOURCE_QUOTA ? quota_.get() : nullptr;
}

}  // namespace skein::grpc_transport
