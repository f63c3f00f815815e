#include "tools/skein/help.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tools/skein/wrapped.h"

namespace skein {
namespace {

constexpr size_t kColumn = 26;  // of what is said of an option or an example; help2man wants 20 at least
constexpr size_t kVerbColumn = 14;
constexpr char kHelp[] = "  -h, --help";

// A name, and what it means beside it or, where that has no space, below it.
std::string Entry(const std::string& name, const std::string& what, size_t width, size_t column = kColumn) {
  const bool fits = name.size() + 2 <= column;
  return absl::StrCat(name, fits ? "" : "\n", std::string(fits ? column - name.size() : column, ' '),
                      Wrapped(what, column, width), "\n");
}

// "  -o, --output=FILE", "      --every=N", "  -o FILE"
std::string ShownNames(const VerbOption& option) {
  const std::vector<std::string> names = absl::StrSplit(option.names, ',');
  const bool has_long = names.back().size() > 2;
  std::string text = has_long && names.size() == 1 ? "      " : "  ";
  absl::StrAppend(&text, names.front(), names.size() > 1 ? ", " : "", names.size() > 1 ? names.back() : "");
  if (!option.value.empty()) absl::StrAppend(&text, has_long ? "=" : " ", option.value);
  return text;
}

std::string OperandOf(const Operand& operand) {
  if (operand.count == Operand::Count::kProgram) return absl::StrCat("[--] ", operand.name, " [ARGUMENT]...");
  const std::string name = operand.question.empty() ? absl::StrCat("[", operand.name, "]") : operand.name;
  return operand.count == Operand::Count::kMany ? absl::StrCat(name, "...") : name;
}

std::string Paragraphs(absl::string_view text, size_t width) {
  std::string lines;
  for (absl::string_view paragraph : absl::StrSplit(text, '\n')) {
    absl::StrAppend(&lines, "\n", Wrapped(paragraph, 0, width), "\n");
  }
  return lines;
}

}  // namespace

std::string UsageOf(const Verb& verb) {
  return absl::StrCat("Usage: skein ", verb.name, " [OPTION]... ", OperandOf(verb.operand), "\n");
}

std::string HelpOf(const Verb& verb, size_t width) {
  std::string text = absl::StrCat(UsageOf(verb), Paragraphs(verb.about, width), "\nOptions:\n");
  for (const VerbOption& option : verb.options) {
    if (!option.help.empty()) text += Entry(ShownNames(option), option.help, width);
  }
  text += Entry(kHelp, "says this", width);
  if (!verb.examples.empty()) text += "\nExamples:\n";
  for (const Example& example : verb.examples) text += Entry(absl::StrCat("  ", example.words), example.what, width);
  return text;
}

std::string HelpOf(const std::vector<Verb>& verbs, size_t width) {
  std::string text = absl::StrCat(
      "Usage: skein VERB [OPTION]... [ARGUMENT]...\n",
      Paragraphs("Starts programs with Skein, and says what Skein can do here and what it does in running programs.",
                 width),
      "\nVerbs:\n");
  for (const Verb& verb : verbs) text += Entry(absl::StrCat("  ", verb.name), verb.summary, width, kVerbColumn);
  absl::StrAppend(&text, "\nOptions:\n", Entry(kHelp, "says this; of a verb: skein VERB --help", width),
                  Entry("      --version", "says which version this is", width));
  return text + Paragraphs("Exit status: 0 as asked, 1 something failed, 2 called wrongly.", width);
}

}  // namespace skein
