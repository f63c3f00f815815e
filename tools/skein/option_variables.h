// The environment variables that set an option.
#ifndef SKEIN_TOOLS_SKEIN_OPTION_VARIABLES_H_
#define SKEIN_TOOLS_SKEIN_OPTION_VARIABLES_H_

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/options.h"

namespace skein {

// gRPC's first, where Thrift has one of its own.
inline std::vector<std::string> VariablesOf(const OptionSpec& option) {
  if (option.name == "mode") return {"SKEIN_GRPC", "SKEIN_THRIFT"};
  return {absl::StrCat("SKEIN_", absl::AsciiStrToUpper(option.name))};
}

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_OPTION_VARIABLES_H_
