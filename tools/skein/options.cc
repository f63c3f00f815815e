#include "tools/skein/options.h"

#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/options.h"

namespace skein {
namespace {

constexpr char kUsage[] =
    "usage: skein options [NAME]\n"
    "\n"
    "Every option: its channel argument, its environment variable, what it may be and its default. With a NAME, that\n"
    "one alone. An environment variable holds for all of a process, a channel argument for one channel or server.\n";

constexpr size_t kLineLength = 100;

std::string Wrapped(absl::string_view text) {
  std::string lines = "   ";
  size_t length = 3;
  for (absl::string_view word : absl::StrSplit(text, ' ')) {
    if (length + 1 + word.size() > kLineLength) {
      lines += "\n   ";
      length = 3;
    }
    absl::StrAppend(&lines, " ", word);
    length += 1 + word.size();
  }
  return lines;
}

void Show(const OptionSpec& option) {
  const bool mode = option.name == "mode";
  const std::string variable =
      mode ? "SKEIN_GRPC, SKEIN_THRIFT" : absl::StrCat("SKEIN_", absl::AsciiStrToUpper(option.name));
  std::printf("skein.%s  (%s)\n    %s%s%s; default %s\n%s\n\n", std::string(option.name).c_str(), variable.c_str(),
              std::string(option.allowed).c_str(), option.unit.empty() ? "" : " ", std::string(option.unit).c_str(),
              option.default_value.empty() ? "none" : std::string(option.default_value).c_str(),
              Wrapped(option.doc).c_str());
}

}  // namespace

int RunOptions(const std::vector<std::string>& arguments) {
  if (arguments.size() > 1 || (!arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h"))) {
    std::fputs(kUsage, arguments.size() > 1 ? stderr : stdout);
    return arguments.size() > 1 ? 2 : 0;
  }
  bool found = false;
  for (const OptionSpec& option : OptionTable()) {
    if (!arguments.empty() && arguments[0] != option.name && arguments[0] != absl::StrCat("skein.", option.name)) {
      continue;
    }
    Show(option);
    found = true;
  }
  if (found) return 0;
  // The table knows which one was meant.
  Options ignored;
  const absl::Status status = SetOption(ignored, arguments[0], "");
  std::fprintf(stderr, "skein options: %s\n", std::string(status.message()).c_str());
  return 2;
}

}  // namespace skein
