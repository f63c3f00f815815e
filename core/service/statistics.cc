#include "core/service/statistics.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/trace/service_metrics.h"

namespace skein::service {
namespace {

using trace::ServiceMetric;
using Labels = std::vector<std::pair<std::string, std::string>>;

template <typename Each>
struct Column {
  ServiceMetric metric;
  uint64_t (*value)(const Each& each);
};

// One family for each column, with a sample of each item.
template <typename Each>
void AddFamilies(trace::MetricFamilies& families, absl::Span<const Each> all, Labels (*labels_of)(const Each& each),
                 std::initializer_list<Column<Each>> columns) {
  for (const Column<Each>& column : columns) {
    trace::MetricFamily& family = families.emplace_back(trace::FamilyOf(column.metric));
    for (const Each& each : all) {
      family.metrics.push_back({labels_of(each), absl::StrCat(column.value(each)), {}, "", ""});
    }
  }
}

template <typename Each>
void SortByTraffic(std::vector<Each>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Each& a, const Each& b) {
    return a.traffic.requests + a.traffic.arrivals > b.traffic.requests + b.traffic.arrivals;
  });
}

struct NamedProcess {
  Labels labels;
  ProcessStatistics statistics;
};

std::vector<NamedProcess> NameProcesses(std::vector<ProcessStatistics> processes, const ProcessStatistics& ended) {
  SortByTraffic(processes);
  std::vector<NamedProcess> named;
  ProcessStatistics others;
  for (const ProcessStatistics& each : processes) {
    if (named.size() == kMostProcessesTold) {
      others += each;
    } else {
      named.push_back({{{"user", absl::StrCat(each.user)}, {"client", absl::StrCat(each.process)}}, each});
    }
  }
  if (others.sessions > 0) named.push_back({{{"user", ""}, {"client", "others"}}, others});
  named.push_back({{{"user", ""}, {"client", "ended"}}, ended});
  return named;
}

void AddNumber(trace::MetricFamilies& families, ServiceMetric metric, uint64_t value) {
  families.push_back(trace::FamilyOf(metric));
  families.back().metrics.push_back({{}, absl::StrCat(value), {}, "", ""});
}

}  // namespace

ProcessStatistics& ProcessStatistics::operator+=(const ProcessStatistics& more) {
  sessions += more.sessions;
  queue_pairs += more.queue_pairs;
  registered_bytes += more.registered_bytes;
  under_way += more.under_way;
  refusals += more.refusals;
  traffic += more.traffic;
  return *this;
}

trace::MetricFamilies MetricsOf(Statistics statistics) {
  trace::MetricFamilies families;
  AddNumber(families, ServiceMetric::kTurns, statistics.turns);
  AddNumber(families, ServiceMetric::kSleeps, statistics.sleeps);
  AddNumber(families, ServiceMetric::kWakes, statistics.wakes);
  AddNumber(families, ServiceMetric::kSessionsRefused, statistics.sessions_refused);
  using Process = NamedProcess;
  AddFamilies<Process>(
      families, NameProcesses(std::move(statistics.processes), statistics.ended),
      [](const Process& each) { return each.labels; },
      {{ServiceMetric::kSessions, [](const Process& each) { return each.statistics.sessions; }},
       {ServiceMetric::kQueuePairs, [](const Process& each) { return each.statistics.queue_pairs; }},
       {ServiceMetric::kRegisteredBytes, [](const Process& each) { return each.statistics.registered_bytes; }},
       {ServiceMetric::kUnderWay, [](const Process& each) { return each.statistics.under_way; }},
       {ServiceMetric::kRequests, [](const Process& each) { return each.statistics.traffic.requests; }},
       {ServiceMetric::kRequestBytes, [](const Process& each) { return each.statistics.traffic.request_bytes; }},
       {ServiceMetric::kArrivals, [](const Process& each) { return each.statistics.traffic.arrivals; }},
       {ServiceMetric::kArrivedBytes, [](const Process& each) { return each.statistics.traffic.arrived_bytes; }},
       {ServiceMetric::kRefusals, [](const Process& each) { return each.statistics.refusals; }}});
  using Peer = PeerStatistics;
  if (statistics.peers.size() > kMostPeersTold) statistics.peers.resize(kMostPeersTold);
  AddFamilies<Peer>(families, statistics.peers,
                    [](const Peer& each) {
                      return Labels{{"peer", each.host}};
                    },
                    {{ServiceMetric::kTrunks, [](const Peer& each) { return each.trunks; }},
                     {ServiceMetric::kTrunkQueuePairs, [](const Peer& each) { return each.queue_pairs; }},
                     {ServiceMetric::kTrunkUnderWay, [](const Peer& each) { return each.under_way; }},
                     {ServiceMetric::kTrunkWaits, [](const Peer& each) { return each.waits; }}});
  return families;
}

trace::MetricFamilies QueuePairMetricsOf(std::vector<QueuePairStatistics> queue_pairs) {
  SortByTraffic(queue_pairs);
  if (queue_pairs.size() > kMostQueuePairsTold) queue_pairs.resize(kMostQueuePairsTold);
  trace::MetricFamilies families;
  using Pair = QueuePairStatistics;
  AddFamilies<Pair>(families, queue_pairs,
                    [](const Pair& each) {
                      return Labels{{"user", absl::StrCat(each.user)},
                                    {"client", absl::StrCat(each.process)},
                                    {"queue_pair", absl::StrCat(each.number)},
                                    {"peer", each.peer}};
                    },
                    {{ServiceMetric::kPairUnderWay, [](const Pair& each) { return each.under_way; }},
                     {ServiceMetric::kPairRequests, [](const Pair& each) { return each.traffic.requests; }},
                     {ServiceMetric::kPairRequestBytes, [](const Pair& each) { return each.traffic.request_bytes; }},
                     {ServiceMetric::kPairArrivals, [](const Pair& each) { return each.traffic.arrivals; }},
                     {ServiceMetric::kPairArrivedBytes, [](const Pair& each) { return each.traffic.arrived_bytes; }}});
  return families;
}

}  // namespace skein::service
