#include "tools/skein/run/command_line.h"

#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/edit_distance.h"
#include "core/base/options.h"

namespace skein::run {
namespace {

constexpr absl::string_view kFlags[] = {"require", "verbose", "dry-run", "help"};

// Sets a flag; false: there is none of this name.
bool SetFlag(absl::string_view word, CommandLine& line) {
  if (word == "--help" || word == "-h") {
    line.help = true;
  } else if (word == "--verbose" || word == "-v") {
    line.verbose = true;
  } else if (word == "--dry-run" || word == "-n") {
    line.dry_run = true;
  } else if (word == "--require") {
    line.variables.emplace_back("SKEIN_GRPC", "require");
  } else {
    return false;
  }
  return true;
}

bool IsOption(absl::string_view name) {
  for (const OptionSpec& option : OptionTable()) {
    if (option.name == name) return true;
  }
  return false;
}

absl::Status UnknownName(absl::string_view word, absl::string_view name) {
  std::vector<absl::string_view> known(std::begin(kFlags), std::end(kFlags));
  for (const OptionSpec& option : OptionTable()) known.push_back(option.name);
  const absl::string_view nearest = NearestName(name, known);
  return absl::InvalidArgumentError(
      absl::StrCat("no option '", word, nearest.empty() ? "'" : absl::StrCat("'; did you mean --", nearest, "?")));
}

// "--NAME=VALUE", or "--NAME" and the word behind it, if there is one.
absl::Status SetOptionOf(absl::string_view word, const std::string* next, CommandLine& line, bool& took_next) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
  const absl::string_view name = absl::StartsWith(word, "--") ? parts.first.substr(2) : parts.first;
  if (!absl::StartsWith(word, "--") || !IsOption(name)) return UnknownName(word, name);
  took_next = !absl::StrContains(word, '=');
  if (took_next && next == nullptr) return absl::InvalidArgumentError(absl::StrCat(word, " needs a value"));
  const std::string value = took_next ? *next : std::string(parts.second);
  Options checked;
  const absl::Status status = SetOption(checked, name, value);
  if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat("--", status.message()));
  line.variables.emplace_back(name == "mode" ? "SKEIN_GRPC" : absl::StrCat("SKEIN_", absl::AsciiStrToUpper(name)),
                              value);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& words) {
  CommandLine line;
  size_t at = 0;
  for (; at < words.size() && absl::StartsWith(words[at], "-"); ++at) {
    if (words[at] == "--") {
      ++at;
      break;
    }
    if (SetFlag(words[at], line)) continue;
    bool took_next = false;
    const std::string* const next = at + 1 < words.size() ? &words[at + 1] : nullptr;
    if (absl::Status status = SetOptionOf(words[at], next, line, took_next); !status.ok()) return status;
    if (took_next) ++at;
  }
  line.command.assign(words.begin() + static_cast<ptrdiff_t>(at), words.end());
  if (line.command.empty() && !line.help) return absl::InvalidArgumentError("which program?");
  return line;
}

}  // namespace skein::run
