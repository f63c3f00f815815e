#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/inspect/attachment.h"
#include "core/inspect/live_paths.h"
#include "core/inspect/tracing.h"
#include "tools/skein/activity.h"
#include "tools/skein/facts_json.h"
#include "tools/skein/process_name.h"
#include "tools/skein/scaled.h"
#include "tools/skein/service_top.h"
#include "tools/skein/table.h"
#include "tools/skein/terminal.h"
#include "tools/skein/verbs.h"

namespace skein {
namespace {

struct CommandLine {
  std::vector<pid_t> processes;    // none: all
  std::optional<double> interval;  // seconds
  std::optional<uint32_t> rounds;  // none: without end
  bool json = false;
  bool service = false;
  bool queue_pairs = false;
};

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

std::optional<double> Percent(double part, double all) {
  return all > 0 ? std::optional<double>(100 * part / all) : std::nullopt;
}

Activity ActivityBetween(const Sample& before, const Sample& now, pid_t process) {
  const double seconds = absl::ToDoubleSeconds(now.when - before.when);
  const auto grown = [&](const char* name) {
    const auto value = [name](const Sample& sample) {
      const auto found = sample.counters.find(name);
      return found == sample.counters.end() ? 0 : found->second;
    };
    return value(now) - value(before);
  };
  const auto rate = [&](const char* name) { return seconds > 0 ? grown(name) / seconds : 0; };
  const double hits = grown("skein_spins_hit_total");
  return {.process = process,
          .name = ProcessName(process),
          .connections = now.connections,
          .messages_sent = rate("skein_messages_sent_total"),
          .messages_received = rate("skein_messages_received_total"),
          .bytes_sent = rate("skein_bytes_sent_total"),
          .bytes_received = rate("skein_bytes_received_total"),
          .wake_ups = rate("skein_wake_ups_total"),
          .coalesced_percent = Percent(grown("skein_coalesced_messages_total"), grown("skein_messages_sent_total")),
          .spins_hit_percent = Percent(hits, hits + grown("skein_spins_missed_total")),
          .p50_ns = now.p50,
          .p99_ns = now.p99};
}

std::vector<std::string> Row(const Activity& activity) {
  const auto percent = [](const std::optional<double>& share) {
    return share.has_value() ? absl::StrFormat("%.0f", *share) : "-";
  };
  const auto micros = [](uint64_t ns) {
    return ns == 0 ? "-" : absl::StrFormat("%.1f", static_cast<double>(ns) / 1000);
  };
  return {absl::StrCat(activity.process),
          activity.name,
          activity.connections.empty() ? "-" : absl::StrJoin(activity.connections, " ", absl::PairFormatter(":")),
          Scaled(activity.messages_sent),
          Scaled(activity.messages_received),
          Scaled(activity.bytes_sent),
          Scaled(activity.bytes_received),
          percent(activity.coalesced_percent),
          percent(activity.spins_hit_percent),
          Scaled(activity.wake_ups),
          micros(activity.p50_ns),
          micros(activity.p99_ns)};
}

struct Look {
  std::map<pid_t, Sample> samples;
  std::string wrong;  // lines: why processes are missing; empty: none is
};

Look LookAt(const std::vector<pid_t>& named) {
  Look look;
  for (const pid_t process : named.empty() ? inspect::ProcessesToAsk() : named) {
    absl::StatusOr<Sample> sample = Take(process);
    if (sample.ok()) {
      look.samples[process] = *std::move(sample);
    } else if (!named.empty() || inspect::IsMissed(sample.status())) {
      absl::StrAppend(&look.wrong, "skein top: ", sample.status().message(), "\n");
    }
  }
  return look;
}

// Whether there was anything to say.
bool Complain(const Look& look) {
  std::fputs(look.wrong.c_str(), stderr);
  return !look.wrong.empty();
}

// A terminal shows one look at a time.
void ClearTerminal() {
  if (isatty(STDOUT_FILENO) != 0) std::fputs("\033[H\033[J", stdout);
}

void ShowTable(const std::vector<Activity>& activities) {
  std::vector<std::vector<std::string>> rows = {{"PID", "NAME", "CONNECTIONS", "SENT/s", "RECEIVED/s", "BYTES OUT/s",
                                                 "BYTES IN/s", "COALESCED %", "SPINS HIT %", "WAKE-UPS/s", "P50 us",
                                                 "P99 us"}};
  for (const Activity& activity : activities) rows.push_back(Row(activity));
  ClearTerminal();
  std::fputs(Table(std::move(rows), TerminalWidth()).c_str(), stdout);
}

void Show(const std::map<pid_t, Sample>& before, const std::map<pid_t, Sample>& now, bool json) {
  std::vector<Activity> activities;
  for (const auto& [process, sample] : now) {
    const auto found = before.find(process);
    activities.push_back(ActivityBetween(found == before.end() ? sample : found->second, sample, process));
  }
  json ? static_cast<void>(std::puts(ActivitiesJson(activities).c_str())) : ShowTable(activities);
  std::fflush(stdout);
}

void ShowService(const ServiceTop::Seen& seen, const CommandLine& line) {
  if (line.json) {
    std::puts(ServiceActivitiesJson(seen.activities).c_str());
  } else {
    ClearTerminal();
    std::fputs(ServiceTables(seen.activities, line.queue_pairs, TerminalWidth()).c_str(), stdout);
  }
  std::fflush(stdout);
  for (const absl::Status& missed : seen.missed) absl::FPrintF(stderr, "skein top: %s\n", missed.message());
}

absl::StatusOr<int> RunOfService(const CommandLine& line) {
  ServiceTop top(line.processes, line.queue_pairs);
  bool failed = false;
  absl::StatusOr<ServiceTop::Seen> seen = top.Look();
  for (uint32_t round = 0; seen.ok() && round != line.rounds; ++round) {
    absl::SleepFor(absl::Seconds(line.interval.value_or(1)));
    seen = top.Look();
    if (!seen.ok()) break;
    ShowService(*seen, line);
    failed |= !seen->missed.empty();
  }
  if (!seen.ok()) return seen.status();
  return failed ? 1 : 0;
}

absl::StatusOr<int> Run(const CommandLine& line) {
  if (line.service) return RunOfService(line);
  const bool named = !line.processes.empty();
  Look before = LookAt(line.processes);
  bool failed = named && Complain(before);  // of all processes, the next look says it
  for (uint32_t round = 0; !(named && failed) && round != line.rounds; ++round) {
    absl::SleepFor(absl::Seconds(line.interval.value_or(1)));
    Look now = LookAt(line.processes);
    Show(before.samples, now.samples, line.json);
    failed = Complain(now) || failed;
    before = std::move(now);
  }
  return failed ? 1 : 0;
}

absl::Status Check(const CommandLine& line) {
  if (!line.queue_pairs || line.service) return absl::OkStatus();
  return absl::InvalidArgumentError("--queue-pairs are skeind's: add --service");
}

}  // namespace

Verb TopVerb() {
  const auto line = std::make_shared<CommandLine>();
  return {
      .name = "top",
      .summary = "what running processes send and receive, second by second",
      .about =
          "The traffic of running processes over Skein, again and again. Without a PID, of all processes of "
          "this user that have any connections, in this network namespace. Calls' p50 and p99 are of processes that "
          "trace (SKEIN_TRACE, skein breakdown).\nWith --service instead who uses this host's skeind, the busiest "
          "first, and to which hosts it leads; the PID is then skeind's, and needed only where several run. Ask as "
          "skeind's user or as root.",
      .options = {{"--interval", "S", "waits so many seconds between two looks (default 1)",
                   Number(line->interval, 0.1, 3600, "seconds")},
                  {"--rounds", "N", "ends after so many looks (default: at Ctrl-C)",
                   Number(line->rounds, 1, 1'000'000'000, "rounds")},
                  {"--service", "", "of skeind: the processes that use it", Yes(line->service)},
                  {"--queue-pairs", "", "with --service: their virtual queue pairs", Yes(line->queue_pairs)},
                  {"--json", "", "prints JSON, for programs: a line for each look", Yes(line->json)}},
      .operand = {Operand::Count::kMany, "PID", "", Processes(line->processes)},
      .examples = {{"skein top", "all processes, each second"},
                   {"skein top --interval 5 --rounds 1 4711", "process 4711, of the next five seconds"},
                   {"skein top --service", "the processes that use skeind"}},
      .check = [line] { return Check(*line); },
      .run = [line] { return Run(*line); }};
}

}  // namespace skein
