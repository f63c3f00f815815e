// The skein command: a verb, and what it is to work on. Exit status: 0 as asked, 1 something failed, 2 called wrongly.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/base/edit_distance.h"
#include "tools/skein/breakdown.h"
#include "tools/skein/doctor/doctor.h"
#include "tools/skein/exporter.h"
#include "tools/skein/metrics.h"
#include "tools/skein/options.h"
#include "tools/skein/paths.h"
#include "tools/skein/record.h"
#include "tools/skein/run/run.h"
#include "tools/skein/top.h"

namespace skein {
namespace {

constexpr char kUsage[] =
    "usage: skein VERB [ARGUMENT...]\n"
    "\n"
    "  run        starts a gRPC program with Skein, and says beforehand what stands in the way\n"
    "  doctor     what this machine can do for Skein, and which path leads to a server\n"
    "  paths      what the connections of running processes use, and why not something better\n"
    "  top        what running processes send and receive, second by second\n"
    "  breakdown  where the time of a process's or a trace's calls goes, stage by stage\n"
    "  record     a process's calls one by one, as a trace that viewers open\n"
    "  metrics    a process's counters and durations, as Prometheus' text\n"
    "  exporter   the same of all processes over HTTP, for Prometheus\n"
    "  options    every option, its values and its default\n"
    "\n"
    "skein VERB --help says more.\n";

struct Verb {
  absl::string_view name;
  int (*run)(const std::vector<std::string>& arguments);
};
constexpr Verb kVerbs[] = {{"run", RunProgram},     {"doctor", RunDoctor},       {"paths", RunPaths},
                           {"top", RunTop},         {"breakdown", RunBreakdown}, {"record", RunRecord},
                           {"metrics", RunMetrics}, {"exporter", RunExporter},   {"options", RunOptions}};

int Run(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    std::fputs(kUsage, words.empty() ? stderr : stdout);
    return words.empty() ? 2 : 0;
  }
  for (const Verb& verb : kVerbs) {
    if (words[0] == verb.name) return verb.run({words.begin() + 1, words.end()});
  }
  std::vector<absl::string_view> known;
  for (const Verb& verb : kVerbs) known.push_back(verb.name);
  const auto nearer = [&](absl::string_view a, absl::string_view b) {
    return EditDistance(words[0].substr(0, 32), a) < EditDistance(words[0].substr(0, 32), b);
  };
  const std::string nearest(*std::min_element(known.begin(), known.end(), nearer));
  std::fprintf(stderr, "skein: unknown verb '%s'; did you mean %s? There is: %s\n", words[0].c_str(), nearest.c_str(),
               absl::StrJoin(known, ", ").c_str());
  return 2;
}

}  // namespace
}  // namespace skein

int main(int argc, char** argv) { return skein::Run({argv + 1, argv + argc}); }
