#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/skein/program/executable.h"
#include "tools/skein/program/outlook.h"
#include "tools/skein/run/command_line.h"
#include "tools/skein/run/preload_library.h"
#include "tools/skein/verbs.h"

namespace skein {
namespace {

using program::Outlook;

constexpr int kCannot = 126;
constexpr int kMissing = 127;

// What is known before the program starts.
struct Plan {
  std::vector<std::pair<std::string, std::string>> environment;
  std::string sentence;  // what will happen
  std::string remedy;    // the user's way out, if mode require cannot be kept or the library is missing
  bool in_the_way = false;
  bool keeps_require = true;
  bool preloads = true;
};

int StatusFor(const absl::Status& status) { return absl::IsNotFound(status) ? kMissing : kCannot; }

void Foresee(const std::string& path, bool require, Plan& plan) {
  const absl::StatusOr<Outlook> outlook =
      program::OutlookOf(path, program::Executor::ThisProcess(), run::LibraryFolder());
  if (!outlook.ok()) {
    plan.sentence = absl::StrCat("it cannot be told what gRPC ", path, " has: ", outlook.status().message());
    plan.in_the_way = true;
    return;
  }
  plan.keeps_require = outlook->keeps_require();
  // Only a user who requires Skein needs to know that more cannot be seen.
  plan.in_the_way = outlook->kind != Outlook::Kind::kServed && (require || outlook->kind != Outlook::Kind::kNoGrpc);
  plan.sentence = outlook->why;
  plan.remedy = program::AdviceFor(outlook->kind);
  // An older glibc than this system's may lack functions that the library needs; then the program does not start.
  plan.preloads = outlook->kind != Outlook::Kind::kOtherLinker;
}

Plan MakePlan(const run::CommandLine& line, const std::string& path) {
  Plan plan;
  const char* const set = std::getenv("SKEIN_GRPC");
  std::string mode = set == nullptr || *set == '\0' ? "prefer" : set;
  for (const auto& [name, value] : line.variables) {
    if (name == "SKEIN_GRPC") {
      mode = value;
    } else {
      plan.environment.emplace_back(name, value);
    }
  }
  plan.environment.emplace_back("SKEIN_GRPC", mode);
  const bool require = mode == "require";
  const absl::StatusOr<std::string> library = run::PreloadLibrary(run::OwnFolder());
  if (!library.ok()) {
    plan.sentence = std::string(library.status().message());
    plan.in_the_way = true;
    plan.keeps_require = false;
    plan.remedy = absl::IsNotFound(library.status())
                      ? "install the package skein-preload, or start the command of an installation that has these"
                      : "install Skein in another place";
  } else {
    Foresee(path, require, plan);
    const char* const before = std::getenv("LD_PRELOAD");
    if (plan.preloads) {
      plan.environment.emplace_back("LD_PRELOAD", run::WithLibrary(*library, before == nullptr ? "" : before));
    }
  }
  if (!plan.keeps_require) {
    plan.sentence = require ? absl::StrCat("refused: ", plan.sentence, "; mode require cannot be kept; ", plan.remedy)
                            : absl::StrCat(plan.sentence, "; it stays on TCP");
    if (!require && !library.ok()) absl::StrAppend(&plan.sentence, "; ", plan.remedy);
  }
  return plan;
}

bool IsRefused(const Plan& plan) {
  for (const auto& [name, value] : plan.environment) {
    if (name == "SKEIN_GRPC" && value == "require") return !plan.keeps_require;
  }
  return false;
}

int Show(const Plan& plan) {
  std::printf("%s\n", plan.sentence.c_str());
  for (const auto& [name, value] : plan.environment) std::printf("%s=%s\n", name.c_str(), value.c_str());
  return IsRefused(plan) ? kCannot : 0;
}

int Start(const std::vector<std::string>& command) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  const int error = errno;
  std::fprintf(stderr, "skein run: cannot start '%s': %s\n", words[0], std::strerror(error));
  return error == ENOENT ? kMissing : kCannot;
}

int Run(const run::CommandLine& line) {
  const absl::StatusOr<std::string> path = program::FindExecutable(line.command[0]);
  if (!path.ok()) {
    std::fprintf(stderr, "skein run: %s\n", std::string(path.status().message()).c_str());
    return StatusFor(path.status());
  }
  const Plan plan = MakePlan(line, *path);
  if (line.dry_run) return Show(plan);
  if (plan.in_the_way || line.verbose) std::fprintf(stderr, "skein run: %s\n", plan.sentence.c_str());
  if (IsRefused(plan)) return kCannot;
  for (const auto& [name, value] : plan.environment) setenv(name.c_str(), value.c_str(), 1);
  return Start(line.command);
}

}  // namespace

Verb RunVerb() { return run::Declare(Run); }

}  // namespace skein
