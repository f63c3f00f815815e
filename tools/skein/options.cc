#include "core/base/options.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "tools/skein/facts_json.h"
#include "tools/skein/option_variables.h"
#include "tools/skein/terminal.h"
#include "tools/skein/verbs.h"
#include "tools/skein/wrapped.h"

namespace skein {
namespace {

constexpr size_t kLineLength = 100;  // at most, for it is prose

struct CommandLine {
  std::string name;  // empty: every option
  bool json = false;
};

std::string Paragraph(const OptionSpec& option, size_t width) {
  const std::string allowed = absl::StrCat(option.allowed, option.unit.empty() ? "" : " ", option.unit, "; default ",
                                           option.default_value.empty() ? "none" : option.default_value);
  return absl::StrCat("skein.", option.name, "  (", absl::StrJoin(VariablesOf(option), ", "), ")\n    ",
                      Wrapped(allowed, 4, width), "\n    ", Wrapped(option.doc, 4, width), "\n\n");
}

absl::StatusOr<int> Run(const CommandLine& line) {
  std::vector<OptionSpec> wanted;
  absl::c_copy_if(OptionTable(), std::back_inserter(wanted),
                  [&](const OptionSpec& option) { return line.name.empty() || line.name == option.name; });
  if (line.json) return std::puts(OptionsJson(wanted).c_str()) < 0 ? 1 : 0;
  const size_t width = TerminalWidth() == 0 ? kLineLength : std::min(kLineLength, TerminalWidth());
  for (const OptionSpec& option : wanted) std::fputs(Paragraph(option, width).c_str(), stdout);
  return 0;
}

// The bare name of the option that is called so: by that, its channel argument or a variable.
std::string BareName(const std::string& word) {
  for (const OptionSpec& option : OptionTable()) {
    if (absl::c_linear_search(VariablesOf(option), word)) return std::string(option.name);
  }
  if (absl::StartsWith(word, "SKEIN_")) return absl::AsciiStrToLower(absl::StripPrefix(word, "SKEIN_"));
  return std::string(absl::StripPrefix(word, "skein."));
}

Setter OptionName(std::string& variable) {
  return [&variable](const std::string& word) {
    variable = BareName(word);
    if (absl::c_any_of(OptionTable(), [&](const OptionSpec& option) { return option.name == variable; })) {
      return absl::OkStatus();
    }
    Options ignored;
    return SetOption(ignored, variable, "");  // names the one that was meant
  };
}

}  // namespace

Verb OptionsVerb() {
  const auto line = std::make_shared<CommandLine>();
  return {.name = "options",
          .summary = "every option, its values and its default",
          .about =
              "Every option of Skein: its channel argument, its environment variable, what it may be and its "
              "default. With a NAME (shm, skein.shm or SKEIN_SHM), that one alone. An environment variable holds for "
              "all of a process, a channel argument for one channel or server.",
          .options = {JsonOption(line->json)},
          .operand = {Operand::Count::kOne, "NAME", "", OptionName(line->name)},
          .examples = {{"skein options", "all of them"}, {"skein options wait_mode", "how threads wait"}},
          .run = [line] { return Run(*line); }};
}

}  // namespace skein
