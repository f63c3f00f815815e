#include "grpc_transport/settings.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace skein::grpc_transport {
namespace {

constexpr absl::string_view kPrefix = "skein.";

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

absl::StatusOr<Options> OptionsOf(const absl::StatusOr<Options>& environment, const grpc_core::ChannelArgs& args) {
  absl::StatusOr<Options> options = environment;
  if (!options.ok()) return options;
  const auto list = args.ToC();
  for (size_t i = 0; i < list->num_args; ++i) {
    const grpc_arg& arg = list->args[i];
    if (!absl::StartsWith(arg.key, kPrefix)) continue;
    const absl::StatusOr<std::string> value = ValueOf(arg);
    if (!value.ok()) return value.status();
    const absl::Status set = SetOption(*options, absl::StripPrefix(arg.key, kPrefix), *value);
    if (!set.ok()) return absl::InvalidArgumentError(absl::StrCat("channel argument ", arg.key, ": ", set.message()));
  }
  return options;
}

}  // namespace skein::grpc_transport
