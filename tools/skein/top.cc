#include "tools/skein/top.h"

#include <unistd.h>

#include <cstdio>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/inspect/attachment.h"
#include "core/inspect/live_paths.h"
#include "core/inspect/tracing.h"
#include "tools/skein/arguments.h"
#include "tools/skein/process_name.h"
#include "tools/skein/table.h"

namespace skein {
namespace {

constexpr char kVerb[] = "top";
constexpr char kUsage[] =
    "usage: skein top [--interval=S] [--rounds=N] [PID...]\n"
    "\n"
    "What processes send and receive over Skein, again every S seconds (default 1), N times (default: until Ctrl-C).\n"
    "Without a PID, all processes of this user that have any connections. Calls' p50 and p99 are of processes that\n"
    "trace (SKEIN_TRACE, skein breakdown).\n";

struct CommandLine {
  std::vector<pid_t> processes;
  double interval = 1;
  uint32_t rounds = 0;  // 0: without end
};

// INVALID_ARGUMENT: called wrongly.
absl::StatusOr<CommandLine> Parse(const std::vector<std::string>& arguments) {
  CommandLine line;
  for (absl::string_view argument : arguments) {
    absl::string_view value = argument;
    if (absl::ConsumePrefix(&value, "--interval=")) {
      if (!absl::SimpleAtod(value, &line.interval) || !(line.interval >= 0.1 && line.interval <= 3600)) {
        return absl::InvalidArgumentError("--interval is a number of seconds from 0.1 to 3600");
      }
    } else if (absl::ConsumePrefix(&value, "--rounds=")) {
      if (!absl::SimpleAtoi(value, &line.rounds) || line.rounds == 0) {
        return absl::InvalidArgumentError("--rounds is a number");
      }
    } else if (absl::StartsWith(argument, "-")) {
      return UnknownOption(argument);
    } else if (absl::Status status = AddProcess(argument, line.processes); !status.ok()) {
      return status;
    }
  }
  return line;
}

// What a process has said of itself.
struct Sample {
  absl::Time when;
  std::map<std::string, double> counters;  // by name, all labels together
  std::map<std::string, int> connections;  // by path
  uint64_t p50 = 0;                        // of its busiest traced calls, ns; 0: none
  uint64_t p99 = 0;
};

std::map<std::string, double> CountersOf(const trace::MetricFamilies& families) {
  std::map<std::string, double> counters;
  for (const trace::MetricFamily& family : families) {
    for (const trace::Metric& metric : family.metrics) {
      double number = 0;
      if (absl::SimpleAtod(metric.value, &number)) counters[family.name] += number;
    }
  }
  return counters;
}

absl::StatusOr<Sample> Take(pid_t process) {
  Sample sample;
  const absl::StatusOr<std::vector<inspect::LivePath>> paths = inspect::AskPaths(process);
  if (!paths.ok()) return paths.status();
  for (const inspect::LivePath& path : *paths) ++sample.connections[path.path.substr(0, path.path.find(':'))];
  const absl::StatusOr<trace::MetricFamilies> metrics = inspect::AskMetrics(process);
  if (!metrics.ok()) return metrics.status();
  sample.counters = CountersOf(*metrics);
  const absl::StatusOr<std::vector<inspect::SeriesFigures>> series = inspect::AskSeries(process);
  if (!series.ok()) return series.status();
  uint64_t most = 0;
  for (const inspect::SeriesFigures& figures : *series) {
    if (!figures.whole || !figures.call || figures.count <= most) continue;
    most = figures.count;
    sample.p50 = figures.p50;
    sample.p99 = figures.p99;
  }
  sample.when = absl::Now();
  return sample;
}

std::string Scaled(double number) {
  constexpr absl::string_view kUnits[] = {"", "k", "M", "G", "T"};
  size_t unit = 0;
  for (; number >= 10000 && unit + 1 < std::size(kUnits); ++unit) number /= 1000;
  const int digits = number < 100 && unit > 0 ? 1 : 0;
  return absl::StrFormat("%.*f%s", digits, number, kUnits[unit]);
}

std::vector<std::string> Row(pid_t process, const Sample& before, const Sample& now) {
  const double seconds = absl::ToDoubleSeconds(now.when - before.when);
  const auto grown = [&](const char* name) {
    const auto value = [name](const Sample& sample) {
      const auto found = sample.counters.find(name);
      return found == sample.counters.end() ? 0 : found->second;
    };
    return value(now) - value(before);
  };
  const auto rate = [&](const char* name) { return Scaled(seconds > 0 ? grown(name) / seconds : 0); };
  const auto percent = [](double part, double all) {
    return all > 0 ? absl::StrFormat("%.0f", 100 * part / all) : "-";
  };
  std::string connections;
  for (const auto& [path, count] : now.connections) absl::StrAppend(&connections, path, ":", count, " ");
  const double hits = grown("skein_spins_hit_total");
  const auto micros = [](uint64_t ns) {
    return ns == 0 ? "-" : absl::StrFormat("%.1f", static_cast<double>(ns) / 1000);
  };
  return {absl::StrCat(process),
          ProcessName(process),
          connections.empty() ? "-" : std::string(absl::StripTrailingAsciiWhitespace(connections)),
          rate("skein_messages_sent_total"),
          rate("skein_messages_received_total"),
          rate("skein_bytes_sent_total"),
          rate("skein_bytes_received_total"),
          percent(grown("skein_coalesced_messages_total"), grown("skein_messages_sent_total")),
          percent(hits, hits + grown("skein_spins_missed_total")),
          rate("skein_wake_ups_total"),
          micros(now.p50),
          micros(now.p99)};
}

// All that can be asked; of those that were named, what is wrong with the others goes to `wrong`.
std::map<pid_t, Sample> TakeAll(const std::vector<pid_t>& named, std::string& wrong) {
  std::map<pid_t, Sample> samples;
  for (const pid_t process : named.empty() ? inspect::ProcessesToAsk() : named) {
    absl::StatusOr<Sample> sample = Take(process);
    if (sample.ok()) {
      samples[process] = *std::move(sample);
    } else if (!named.empty()) {
      absl::StrAppend(&wrong, "skein top: ", sample.status().message(), "\n");
    }
  }
  return samples;
}

void Show(const std::map<pid_t, Sample>& before, const std::map<pid_t, Sample>& now) {
  std::vector<std::vector<std::string>> rows = {{"PID", "NAME", "CONNECTIONS", "SENT/s", "RECEIVED/s", "BYTES OUT/s",
                                                 "BYTES IN/s", "COALESCED %", "SPINS HIT %", "WAKE-UPS/s", "P50 us",
                                                 "P99 us"}};
  for (const auto& [process, sample] : now) {
    const auto found = before.find(process);
    rows.push_back(Row(process, found == before.end() ? sample : found->second, sample));
  }
  if (isatty(STDOUT_FILENO) != 0) std::fputs("\033[H\033[J", stdout);
  std::fputs(Table(std::move(rows)).c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

int RunTop(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && AsksForHelp(arguments[0])) return std::fputs(kUsage, stdout) < 0 ? 1 : 0;
  const absl::StatusOr<CommandLine> line = Parse(arguments);
  if (!line.ok()) return Misused(kVerb, line.status().message(), kUsage);
  std::string wrong;
  std::map<pid_t, Sample> before = TakeAll(line->processes, wrong);
  for (uint32_t round = 0; wrong.empty() && (line->rounds == 0 || round < line->rounds); ++round) {
    absl::SleepFor(absl::Seconds(line->interval));
    std::map<pid_t, Sample> now = TakeAll(line->processes, wrong);
    Show(before, now);
    before = std::move(now);
  }
  std::fputs(wrong.c_str(), stderr);
  return wrong.empty() ? 0 : 1;
}

}  // namespace skein
