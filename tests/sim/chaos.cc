// Runs scenarios under faults, all from seeds; README.md says what is broken and what must hold.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tests/sim/run.h"

ABSL_FLAG(uint64_t, seeds, 100, "how many, of each scenario");
ABSL_FLAG(uint64_t, first, 1, "the first of them");
ABSL_FLAG(std::string, scenario, "", "only this one");

// Of the sanitizers' runtime, when there is one.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace skein::chaos {
namespace {

// One run in so many is made twice, and must be the same.
constexpr uint64_t kTwiceEvery = 20;
// Of so many runs, each kind of fault must have taken effect in some.
constexpr uint64_t kEnoughSeeds = 400;
constexpr uint64_t kMostFailures = 5;  // then it is clear that something is wrong

// What is under way, for the words on a crash. Read by a signal handler of this very thread.
struct {
  const char* scenario = nullptr;
  uint64_t seed = 0;
} current;

void TellWhatFailed() {
  if (current.scenario == nullptr) return;
  std::fprintf(stderr, "CRASHED: ./run test chaos --first %llu --seeds 1 --scenario %s\n",
               static_cast<unsigned long long>(current.seed), current.scenario);
  current.scenario = nullptr;
}

// The process is lost anyway: stdio is good enough.
void OnSignal(int signal) {
  TellWhatFailed();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

struct Totals {
  uint64_t seeds = 0;
  uint64_t operations = 0;
  uint64_t failures = 0;
  std::array<uint64_t, kFaultKinds> faults = {};
  std::array<uint64_t, kSights> sights = {};
};

void Print(const ScenarioKind& kind, uint64_t seed, const Outcome& outcome, absl::string_view what) {
  std::cout << absl::StrCat("FAILED: scenario ", kind.name, ", seed ", seed, ": ", what, "\n  with these faults:\n",
                            ToString(outcome.plan), "  again: ./run test chaos --first ", seed,
                            " --seeds 1 --scenario ", kind.name, "\n")
            << std::flush;
}

void RunOne(const ScenarioKind& kind, uint64_t seed, bool twice, Totals& totals) {
  current = {kind.name.data(), seed};  // names are literals
  const Outcome outcome = Run(kind, seed);
  ++totals.seeds;
  totals.operations += outcome.journal.operations();
  for (size_t i = 0; i < kFaultKinds; ++i) totals.faults[i] += outcome.journal.faults()[i];
  for (size_t i = 0; i < kSights; ++i) totals.sights[i] += outcome.journal.sights()[i];
  std::string what = absl::StrJoin(outcome.journal.violations(), "\n    ");
  if (twice && what.empty() && Run(kind, seed).journal.digest() != outcome.journal.digest()) {
    what = "a second run of it saw something else";
  }
  current = {};
  if (what.empty()) return;
  ++totals.failures;
  Print(kind, seed, outcome, what);
}

// What happened in the runs of a scenario, and how often.
std::vector<std::pair<absl::string_view, uint64_t>> CountsOf(const ScenarioKind& kind, const Totals& totals) {
  std::vector<std::pair<absl::string_view, uint64_t>> counts;
  for (size_t i = 0; i < kFaultKinds; ++i) counts.emplace_back(FaultName(static_cast<FaultKind>(i)), totals.faults[i]);
  for (size_t i = 0; i < kSights && kind.shape.rings; ++i) {
    // Calls have no windows.
    if (static_cast<Sight>(i) != Sight::kWindow || kind.name != "rpc")
      counts.emplace_back(kSightNames[i], totals.sights[i]);
  }
  return counts;
}

// A line for people, and whether all that can happen has.
bool PrintTotals(const ScenarioKind& kind, const Totals& totals) {
  std::vector<std::string> happened;
  std::vector<absl::string_view> never;
  for (const auto& [what, times] : CountsOf(kind, totals)) {
    happened.push_back(absl::StrCat(what, " ", times));
    if (times == 0) never.push_back(what);
  }
  std::cout << absl::StrFormat("%-8s %6d seeds %9d operations %3d failures\n  ", kind.name, totals.seeds,
                               totals.operations, totals.failures)
            << absl::StrJoin(happened, ", ") << '\n';
  if (never.empty() || totals.seeds < kEnoughSeeds) return true;
  std::cout << "FAILED: scenario " << kind.name << " has never seen: " << absl::StrJoin(never, ", ") << '\n';
  return false;
}

bool RunScenario(const ScenarioKind& kind, uint64_t first, uint64_t seeds) {
  Totals totals;
  for (uint64_t seed = first; seed < first + seeds && totals.failures < kMostFailures; ++seed) {
    RunOne(kind, seed, seeds == 1 || seed % kTwiceEvery == 0, totals);
  }
  return PrintTotals(kind, totals) && totals.failures == 0;
}

int Misused(absl::string_view why) {
  std::cerr << "chaos: " << why << '\n';
  return 2;
}

int Main(const std::vector<char*>& arguments) {
  if (arguments.size() > 1) return Misused(absl::StrCat("what is ", arguments[1], "? there is --seeds N"));
  const uint64_t seeds = absl::GetFlag(FLAGS_seeds);
  if (seeds == 0) return Misused("--seeds 0 would prove nothing");
  const std::string only = absl::GetFlag(FLAGS_scenario);
  bool any = false;
  bool good = true;
  std::vector<absl::string_view> names;
  for (const ScenarioKind& kind : Scenarios()) {
    names.push_back(kind.name);
    if (!only.empty() && kind.name != only) continue;
    any = true;
    good &= RunScenario(kind, absl::GetFlag(FLAGS_first), seeds);
  }
  if (!any) return Misused(absl::StrCat("no scenario ", only, "; there are: ", absl::StrJoin(names, " ")));
  return good ? 0 : 1;
}

}  // namespace
}  // namespace skein::chaos

int main(int argc, char** argv) {
  std::signal(SIGABRT, skein::chaos::OnSignal);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(skein::chaos::TellWhatFailed);
  } else {
    std::signal(SIGSEGV, skein::chaos::OnSignal);
  }
  return skein::chaos::Main(absl::ParseCommandLine(argc, argv));
}
