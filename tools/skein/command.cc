#include "tools/skein/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/edit_distance.h"
#include "core/inspect/control.h"
#include "tools/skein/help.h"
#include "tools/skein/terminal.h"

namespace skein {
namespace {

using Words = std::vector<std::string>;

constexpr char kHelpNames[] = "-h,--help";

size_t HelpWidth() {
  const size_t width = TerminalWidth();
  return width == 0 ? 80 : std::min(width, size_t{100});
}

std::vector<absl::string_view> NamesOf(const VerbOption& option) { return absl::StrSplit(option.names, ','); }

const VerbOption* FindOption(const Verb& verb, absl::string_view name) {
  const auto found = absl::c_find_if(
      verb.options, [&](const VerbOption& option) { return absl::c_linear_search(NamesOf(option), name); });
  return found == verb.options.end() ? nullptr : &*found;
}

// Cuts the program and its own words off, which CLI11 must not see: it takes [a,b] for two words.
Words TakeProgram(const Verb& verb, Words& words) {
  size_t at = 0;
  while (at < words.size() && words[at].size() > 1 && words[at][0] == '-' && words[at] != "--") {
    const VerbOption* const option = FindOption(verb, words[at]);
    at += option != nullptr && !option->value.empty() ? 2 : 1;
  }
  if (at >= words.size()) return {};
  const auto begin = words.begin() + static_cast<ptrdiff_t>(at);
  Words program(begin + (*begin == "--" ? 1 : 0), words.end());
  words.erase(begin, words.end());
  return program;
}

// As CLI11 wants them. It takes the next word for the value of "--name=", whose value is empty.
Words Reversed(const Words& words) {
  Words reversed;
  for (const std::string& word : words) {
    const bool is_empty = absl::StartsWith(word, "--") && word.find('=') == word.size() - 1;
    reversed.push_back(is_empty ? word.substr(0, word.size() - 1) : word);
    if (is_empty) reversed.emplace_back();
  }
  absl::c_reverse(reversed);
  return reversed;
}

absl::Status UnknownOption(const Verb& verb, absl::string_view word) {
  word = word.substr(0, word.find('='));
  std::vector<absl::string_view> known = absl::StrSplit(kHelpNames, ',');
  for (const VerbOption& option : verb.options) absl::c_copy(NamesOf(option), std::back_inserter(known));
  // Without the dashes, which would make short names alike.
  const auto bare = [](absl::string_view name) { return absl::StripPrefix(absl::StripPrefix(name, "-"), "-"); };
  std::vector<absl::string_view> names(known.size());
  absl::c_transform(known, names.begin(), bare);
  const absl::string_view nearest = NearestName(bare(word), names);
  const std::string hint =
      nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest.size() > 1 ? "--" : "-", nearest, "?");
  return absl::InvalidArgumentError(absl::StrCat("unknown option '", word, "'", hint));
}

// Why CLI11 did not take the words; `left` are those that it had no use for.
absl::Status WhyNot(const Verb& verb, const Words& words, const Words& left, const CLI::ParseError& error) {
  const auto is_option = [](absl::string_view word) { return word.size() > 1 && word[0] == '-' && word != "--"; };
  if (const auto unknown = absl::c_find_if(left, is_option); unknown != left.end())
    return UnknownOption(verb, *unknown);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(words.back(), " needs a value"));
  }
  const auto extra = absl::c_find_if(left, [](absl::string_view word) { return word != "--"; });
  if (extra == left.end()) return absl::InvalidArgumentError(error.what());
  return absl::InvalidArgumentError(
      absl::StrCat("one ", verb.operand.name, " at a time, but there is also '", *extra, "'"));
}

// A verb's words, as CLI11 reads them.
class Reading {
 public:
  explicit Reading(const Verb& verb) : verb_(verb) {
    app_.set_help_flag(kHelpNames);
    for (const VerbOption& option : verb.options) {
      CLI::Option* const added = option.value.empty() ? app_.add_flag(option.names) : app_.add_option(option.names);
      added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
      options_[added] = &option;
    }
    if (verb.operand.count == Operand::Count::kProgram) return;
    operand_ = app_.add_option("operand")->expected(verb.operand.count == Operand::Count::kMany ? -1 : 1);
    operand_->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }

  // Whether help is asked for, and nothing else counts. INVALID_ARGUMENT: the command was called wrongly.
  absl::StatusOr<bool> Read(Words words) {
    const Words program = operand_ == nullptr ? TakeProgram(verb_, words) : Words();
    try {
      app_.parse(Reversed(words));
    } catch (const CLI::CallForHelp&) {
      return true;
    } catch (const CLI::ParseError& error) {
      return WhyNot(verb_, words, app_.remaining(), error);
    }
    if (absl::Status status = SetOptions(); !status.ok()) return status;
    const Words& operands = operand_ == nullptr ? program : operand_->results();
    if (operands.empty() && !verb_.operand.question.empty()) return absl::InvalidArgumentError(verb_.operand.question);
    for (const std::string& word : operands) {
      if (absl::Status status = verb_.operand.set(word); !status.ok()) return status;
    }
    if (absl::Status status = verb_.check ? verb_.check() : absl::OkStatus(); !status.ok()) return status;
    return false;
  }

 private:
  // In the order of the words, so that of an option given twice the last word holds.
  absl::Status SetOptions() const {
    std::map<const CLI::Option*, size_t> done;
    for (const CLI::Option* const given : app_.parse_order()) {
      const auto found = options_.find(given);
      if (found == options_.end()) continue;
      const VerbOption& option = *found->second;
      const std::string& word = given->results().at(done[given]++);
      const absl::Status status =
          option.value.empty() && word != "true" ? absl::InvalidArgumentError("takes no value") : option.set(word);
      if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(NamesOf(option).back(), " ", status.message()));
    }
    return absl::OkStatus();
  }

  const Verb& verb_;
  CLI::App app_;
  std::map<const CLI::Option*, const VerbOption*> options_;
  CLI::Option* operand_ = nullptr;  // null: a program, which CLI11 does not see
};

int Perform(const Verb& verb, const Words& words, std::ostream& out, std::ostream& err) {
  const std::string beginning = absl::StrCat("skein ", verb.name, ": ");
  const absl::StatusOr<bool> asks_for_help = Reading(verb).Read(words);
  if (!asks_for_help.ok()) {
    err << beginning << asks_for_help.status().message() << "\n"
        << UsageOf(verb) << "skein " << verb.name << " --help says more.\n";
    return 2;
  }
  if (*asks_for_help) {
    out << HelpOf(verb, HelpWidth()) << std::flush;
    return out.good() ? 0 : 1;
  }
  const absl::StatusOr<int> status = verb.run();
  if (status.ok()) return *status;
  err << beginning << status.status().message() << "\n";
  return 1;
}

int UnknownVerb(const std::string& word, const std::vector<Verb>& verbs, std::ostream& err) {
  if (absl::StartsWith(word, "-")) {
    err << "skein: unknown option '" << word
        << "'; there are --help and --version, and a verb's options stand behind the verb\n";
    return 2;
  }
  std::vector<absl::string_view> names(verbs.size());
  absl::c_transform(verbs, names.begin(), [](const Verb& verb) -> absl::string_view { return verb.name; });
  const absl::string_view nearest = NearestName(word, names);
  err << "skein: unknown verb '" << word << "'; "
      << (nearest.empty() ? "" : absl::StrCat("did you mean ", nearest, "? "))
      << "there are: " << absl::StrJoin(names, ", ") << "\n";
  return 2;
}

}  // namespace

int Command::Run(Words words, std::ostream& out, std::ostream& err) const {
  if (words.empty()) {
    err << HelpOf(verbs_, HelpWidth());
    return 2;
  }
  if (words[0] == "help") {  // so does "help VERB" ask
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  if (words[0] == "--help" || words[0] == "-h") {
    out << HelpOf(verbs_, HelpWidth()) << std::flush;
    return out.good() ? 0 : 1;
  }
  if (words[0] == "--version") {
    out << "skein " << inspect::Version() << std::endl;
    return out.good() ? 0 : 1;
  }
  const auto verb = absl::c_find_if(verbs_, [&](const Verb& each) { return each.name == words[0]; });
  if (verb == verbs_.end()) return UnknownVerb(words[0], verbs_, err);
  return Perform(*verb, {words.begin() + 1, words.end()}, out, err);
}

}  // namespace skein
