#include "tools/skein/service_top.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/inspect/attachment.h"
#include "core/inspect/tracing.h"
#include "core/trace/metrics.h"
#include "tools/skein/process_name.h"
#include "tools/skein/scaled.h"
#include "tools/skein/table.h"

namespace skein {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// Whether numbers of processes mean the same to it. Else a number's name would be somebody else's.
bool SeesTheSameProcesses(pid_t skeind) {
  std::error_code error;
  const auto its = std::filesystem::read_symlink(absl::StrCat("/proc/", skeind, "/ns/pid"), error);
  return !error && its == std::filesystem::read_symlink("/proc/self/ns/pid", error);
}

std::string NameOf(const ServiceClient& client, bool means_the_same) {
  pid_t process = 0;
  const bool is_one = absl::SimpleAtoi(client.client, &process) && process != 0;
  return is_one && means_the_same ? ProcessName(process) : "";
}

Rows Processes(const ServiceActivity& activity) {
  const bool same = SeesTheSameProcesses(activity.process);
  Rows rows = {{"CLIENT", "NAME", "USER", "QUEUE PAIRS", "REGISTERED", "UNDER WAY", "SENT/s", "RECEIVED/s",
                "BYTES OUT/s", "BYTES IN/s", "REFUSED/s"}};
  for (const ServiceClient& each : activity.clients) {
    rows.push_back({each.client, NameOf(each, same), each.user, Scaled(each.queue_pairs), Scaled(each.registered_bytes),
                    Scaled(each.under_way), Scaled(each.requests), Scaled(each.arrivals), Scaled(each.request_bytes),
                    Scaled(each.arrived_bytes), Scaled(each.refusals)});
  }
  return rows;
}

Rows QueuePairs(const ServiceActivity& activity) {
  const bool same = SeesTheSameProcesses(activity.process);
  Rows rows = {{"QUEUE PAIR", "CLIENT", "NAME", "USER", "PEER", "UNDER WAY", "SENT/s", "RECEIVED/s", "BYTES OUT/s",
                "BYTES IN/s"}};
  for (const ServiceClient& each : activity.clients) {
    rows.push_back({each.queue_pair, each.client, NameOf(each, same), each.user, each.peer.empty() ? "-" : each.peer,
                    Scaled(each.under_way), Scaled(each.requests), Scaled(each.arrivals), Scaled(each.request_bytes),
                    Scaled(each.arrived_bytes)});
  }
  return rows;
}

Rows Peers(const ServiceActivity& activity) {
  Rows rows = {{"HOST", "TRUNKS", "QUEUE PAIRS", "UNDER WAY", "WAITS/s"}};
  for (const ServicePeer& each : activity.peers) {
    rows.push_back(
        {each.host, Scaled(each.trunks), Scaled(each.queue_pairs), Scaled(each.under_way), Scaled(each.waits)});
  }
  return rows;
}

bool IsSkeind(const trace::MetricFamilies& families) {
  const std::string name(trace::SpecOf(trace::ServiceMetric::kTurns).name);
  for (const trace::MetricFamily& family : families) {
    if (family.name == name) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<ServiceTop::Sample> ServiceTop::Take(pid_t process) const {
  absl::StatusOr<trace::MetricFamilies> families = inspect::AskMetrics(process);
  if (!families.ok()) return families.status();
  if (!IsSkeind(*families)) return absl::InvalidArgumentError(absl::StrCat("process ", process, " is no skeind"));
  if (of_queue_pairs_) {
    absl::StatusOr<trace::MetricFamilies> pairs = inspect::AskQueuePairMetrics(process);
    if (!pairs.ok()) return pairs.status();
    trace::Merge(*families, *std::move(pairs));
  }
  return Sample{absl::Now(), ServiceNumbers(*families)};
}

absl::StatusOr<ServiceTop::Seen> ServiceTop::Look() {
  Seen seen;
  std::map<pid_t, Sample> now;
  absl::Status why_none = absl::NotFoundError("no skeind runs in this network namespace");
  for (const pid_t process : processes_.empty() ? inspect::ProcessesToAsk() : processes_) {
    absl::StatusOr<Sample> sample = Take(process);
    if (!sample.ok() && !processes_.empty()) return sample.status();
    if (!sample.ok()) {
      if (ProcessName(process) != "skeind") continue;
      if (inspect::IsMissed(sample.status())) seen.missed.push_back(sample.status());
      why_none = std::move(sample).status();
      continue;
    }
    const auto found = before_.find(process);
    const Sample& before = found == before_.end() ? *sample : found->second;
    seen.activities.push_back(ServiceActivityBetween(process, before.numbers, sample->numbers, of_queue_pairs_,
                                                     absl::ToDoubleSeconds(sample->when - before.when)));
    now.emplace(process, *std::move(sample));
  }
  before_ = std::move(now);
  if (seen.activities.empty()) return why_none;
  return seen;
}

std::string ServiceTables(const std::vector<ServiceActivity>& activities, bool of_queue_pairs, size_t width) {
  std::string text;
  for (const ServiceActivity& activity : activities) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", "skeind ", activity.process, ": ", Scaled(activity.turns),
                    " turns/s, ", Scaled(activity.sleeps), " sleeps/s, ", Scaled(activity.wakes), " wakes/s\n",
                    Table(of_queue_pairs ? QueuePairs(activity) : Processes(activity), width));
    if (!activity.peers.empty()) absl::StrAppend(&text, Table(Peers(activity), width));
  }
  return text;
}

}  // namespace skein
