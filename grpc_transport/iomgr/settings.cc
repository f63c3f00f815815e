#include "grpc_transport/iomgr/settings.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "grpc_transport/common/channel_arguments.h"

namespace skein::grpc_transport {
namespace {

absl::StatusOr<std::string> ValueOf(const grpc_arg& arg) {
  switch (arg.type) {
    case GRPC_ARG_STRING:
      return std::string(arg.value.string);
    case GRPC_ARG_INTEGER:
      return absl::StrCat(arg.value.integer);
    case GRPC_ARG_POINTER:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat("channel argument ", arg.key, " is a pointer, not text or a number"));
}

}  // namespace

absl::StatusOr<Options> OptionsOf(const EnvironmentOptions& environment, const grpc_core::ChannelArgs& args) {
  Options options = environment.options;
  absl::Status error = environment.error;
  const auto list = args.ToC();
  for (size_t i = 0; i < list->num_args; ++i) {
    const grpc_arg& arg = list->args[i];
    if (absl::StartsWith(arg.key, kArgumentPrefix)) error.Update(SetFromArgument(options, arg.key, ValueOf(arg)));
  }
  return Checked(options, error);
}

}  // namespace skein::grpc_transport
