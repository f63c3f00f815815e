#include "examples/client.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"

ABSL_FLAG(int, calls, 5000, "small calls to measure");
ABSL_FLAG(int, echoes, 200, "1 MiB echoes to measure");
ABSL_FLAG(bool, watch, false, "call until the server was lost and is back, then exit");

namespace skein::examples {

std::string ParseTarget(int argc, char** argv) {
  const std::string usage = absl::StrCat("usage: ", argv[0], " TARGET [--calls N] [--echoes N] [--watch]");
  absl::SetProgramUsageMessage(usage);
  // --help lists the flags above, which are in no file of the program's own name.
  absl::FlagsUsageConfig config;
  config.contains_help_flags = [](absl::string_view file) { return absl::EndsWith(file, "examples/client.cc"); };
  absl::SetFlagsUsageConfig(config);
  const std::vector<char*> words = absl::ParseCommandLine(argc, argv);
  if (words.size() == 2) return words[1];
  std::cerr << usage << std::endl;
  std::exit(2);
}

bool Watching() { return absl::GetFlag(FLAGS_watch); }

bool PrintFigures(absl::FunctionRef<bool()> call, absl::FunctionRef<bool()> echo) {
  const int calls = std::max(1, absl::GetFlag(FLAGS_calls));
  std::vector<absl::Duration> times;
  times.reserve(calls);
  for (int i = -calls / 10; i < calls; ++i) {  // the first tenth warms up
    const absl::Time start = absl::Now();
    if (!call()) return false;
    if (i >= 0) times.push_back(absl::Now() - start);
  }
  std::sort(times.begin(), times.end());

  const int echoes = std::max(1, absl::GetFlag(FLAGS_echoes));
  absl::Time start = absl::Now();
  for (int i = -echoes / 10; i < echoes; ++i) {
    if (i == 0) start = absl::Now();
    if (!echo()) return false;
  }
  // Each echo moves its bytes there and back.
  const double megabytes = 2.0 * echoes * kEchoBytes / 1e6;
  std::cout << absl::StreamFormat("call p50 %.1f us  p99 %.1f us  echo 1 MiB %.0f MB/s",
                                  absl::ToDoubleMicroseconds(times[times.size() / 2]),
                                  absl::ToDoubleMicroseconds(times[times.size() * 99 / 100]),
                                  megabytes / absl::ToDoubleSeconds(absl::Now() - start))
            << std::endl;
  return true;
}

void PrintBack(absl::Time lost) {
  std::cout << "OK again, " << absl::FormatDuration(absl::Trunc(absl::Now() - lost, absl::Milliseconds(1)))
            << " after the loss" << std::endl;
}

}  // namespace skein::examples
