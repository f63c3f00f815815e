#include "tools/skein/run/command_line.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/options.h"
#include "tools/skein/option_variables.h"

namespace skein::run {
namespace {

Setter Variable(std::vector<std::pair<std::string, std::string>>& variables, const OptionSpec& option) {
  return [&variables, &option](const std::string& word) {
    Options checked;
    if (const absl::Status status = SetOption(checked, option.name, word); !status.ok()) {
      return absl::InvalidArgumentError(absl::StripPrefix(status.message(), absl::StrCat(option.name, " ")));
    }
    variables.emplace_back(VariablesOf(option).front(), word);
    return absl::OkStatus();
  };
}

Setter Require(CommandLine& line) {
  return [&line](const std::string& /*word*/) {
    line.require = true;
    line.variables.emplace_back("SKEIN_GRPC", "require");
    return absl::OkStatus();
  };
}

absl::Status Check(const CommandLine& line) {
  for (const auto& [name, value] : line.variables) {
    if (!line.require || name != "SKEIN_GRPC" || value == "require") continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--require and --mode=", value, " contradict each other: leave one of them out"));
  }
  return absl::OkStatus();
}

}  // namespace

Verb Declare(std::function<int(const CommandLine&)> run) {
  const auto line = std::make_shared<CommandLine>();
  Verb verb = {
      .name = "run",
      .summary = "starts a gRPC program with Skein, and says beforehand what stands in the way",
      .about =
          "Starts a gRPC program with Skein: under the preload library, and with SKEIN_GRPC=prefer unless that is "
          "set already. Says so beforehand, in a line on standard error, if something stands in the way. Each of "
          "`skein options` is an option here, too, as --shm=off. All words behind PROGRAM are the program's.\n"
          "Exit status: the program's; 2 called wrongly, 126 refused or it cannot be executed, 127 there is no such "
          "program.",
      .options =
          {{"--require", "",
            "fails rather than use TCP (SKEIN_GRPC=require); does not start a program that can use TCP alone",
            Require(*line)},
           {"-v,--verbose", "", "says what will happen, also where nothing stands in the way", Yes(line->verbose)},
           {"-n,--dry-run", "",
            "says what would happen, and prints the variables that it would set, on standard output; starts nothing",
            Yes(line->dry_run)}},
      .operand = {Operand::Count::kProgram, "PROGRAM", "which program?", Texts(line->command)},
      .examples = {{"skein run ./server --port 50051", "over Skein where that is possible"},
                   {"skein run --require --shm off -- ./server", "over RDMA, or not at all"},
                   {"skein run -n ./server", "what would happen"}},
      .check = [line] { return Check(*line); },
      .run = [line, run = std::move(run)] { return run(*line); }};
  for (const OptionSpec& option : OptionTable()) {
    verb.options.push_back({absl::StrCat("--", option.name), "VALUE", "", Variable(line->variables, option)});
  }
  return verb;
}

}  // namespace skein::run
