// Options of Skein's among gRPC's channel arguments: "skein.mode" and the like.
#ifndef SKEIN_GRPC_TRANSPORT_COMMON_CHANNEL_ARGUMENTS_H_
#define SKEIN_GRPC_TRANSPORT_COMMON_CHANNEL_ARGUMENTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/options.h"

namespace skein::grpc_transport {

inline constexpr absl::string_view kArgumentPrefix = "skein.";

// `key` begins with the prefix; `value`: what it says, or why it says nothing. INVALID_ARGUMENT naming the wrong
// argument and what is allowed. A mode that is none asks for Skein, too.
absl::Status SetFromArgument(Options& options, absl::string_view key, const absl::StatusOr<std::string>& value);

// Of a connection's options: Skein has no part in it. Wrong ones are not off, for their connection has to fail.
inline bool IsOff(const absl::StatusOr<Options>& options) { return options.ok() && options->mode == Mode::kOff; }

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_COMMON_CHANNEL_ARGUMENTS_H_
