#include "grpc_transport/common/channel_arguments.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace skein::grpc_transport {

absl::Status SetFromArgument(Options& options, absl::string_view key, const absl::StatusOr<std::string>& value) {
  const absl::string_view name = absl::StripPrefix(key, kArgumentPrefix);
  absl::Status set = value.ok() ? SetOption(options, name, *value) : value.status();
  if (set.ok()) return set;
  if (name == "mode") options.mode = Mode::kPrefer;
  return value.ok() ? absl::InvalidArgumentError(absl::StrCat("channel argument ", key, ": ", set.message())) : set;
}

}  // namespace skein::grpc_transport
