// What a connection is to do: the environment's options, changed by its channel arguments.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_SETTINGS_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_SETTINGS_H_

#include "absl/status/statusor.h"
#include "core/base/options.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// INVALID_ARGUMENT naming the wrong option and what is allowed; not with mode off.
absl::StatusOr<Options> OptionsOf(const EnvironmentOptions& environment, const grpc_core::ChannelArgs& args);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_SETTINGS_H_
