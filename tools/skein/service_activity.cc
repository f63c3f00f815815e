#include "tools/skein/service_activity.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace skein {
namespace {

using trace::ServiceMetric;
using Labels = ServiceNumbers::Labels;

class Difference {
 public:
  Difference(const ServiceNumbers& before, const ServiceNumbers& now, double seconds)
      : before_(before), now_(now), seconds_(seconds) {}

  double Now(const Labels& labels, ServiceMetric metric) const { return now_.Value(labels, metric); }
  // A counter that has begun anew has no rate.
  double Rate(const Labels& labels, ServiceMetric metric) const {
    const double grown = now_.Value(labels, metric) - before_.Value(labels, metric);
    return seconds_ > 0 ? std::max(grown / seconds_, 0.0) : 0;
  }

 private:
  const ServiceNumbers& before_;
  const ServiceNumbers& now_;
  const double seconds_;
};

std::string LabelOf(const Labels& labels, const std::string& name) {
  const auto found = labels.find(name);
  return found == labels.end() ? "" : found->second;
}

ServiceClient ProcessOf(const Labels& labels, const Difference& difference) {
  return {.user = LabelOf(labels, "user"),
          .client = LabelOf(labels, "client"),
          .queue_pair = "",
          .peer = "",
          .requests = difference.Rate(labels, ServiceMetric::kRequests),
          .request_bytes = difference.Rate(labels, ServiceMetric::kRequestBytes),
          .arrivals = difference.Rate(labels, ServiceMetric::kArrivals),
          .arrived_bytes = difference.Rate(labels, ServiceMetric::kArrivedBytes),
          .refusals = difference.Rate(labels, ServiceMetric::kRefusals),
          .queue_pairs = difference.Now(labels, ServiceMetric::kQueuePairs),
          .registered_bytes = difference.Now(labels, ServiceMetric::kRegisteredBytes),
          .under_way = difference.Now(labels, ServiceMetric::kUnderWay)};
}

ServiceClient QueuePairOf(const Labels& labels, const Difference& difference) {
  return {.user = LabelOf(labels, "user"),
          .client = LabelOf(labels, "client"),
          .queue_pair = LabelOf(labels, "queue_pair"),
          .peer = LabelOf(labels, "peer"),
          .requests = difference.Rate(labels, ServiceMetric::kPairRequests),
          .request_bytes = difference.Rate(labels, ServiceMetric::kPairRequestBytes),
          .arrivals = difference.Rate(labels, ServiceMetric::kPairArrivals),
          .arrived_bytes = difference.Rate(labels, ServiceMetric::kPairArrivedBytes),
          .refusals = 0,
          .queue_pairs = 1,
          .registered_bytes = 0,
          .under_way = difference.Now(labels, ServiceMetric::kPairUnderWay)};
}

std::tuple<double, double> Rate(const ServiceClient& client) {
  return {client.request_bytes + client.arrived_bytes, client.requests + client.arrivals};
}

}  // namespace

ServiceNumbers::ServiceNumbers(const trace::MetricFamilies& families) {
  for (const trace::MetricFamily& family : families) {
    for (const trace::Metric& metric : family.metrics) {
      Labels labels(metric.labels.begin(), metric.labels.end());
      labels.erase("library");  // a skeind has one
      double number = 0;
      if (absl::SimpleAtod(metric.value, &number)) values_[{family.name, std::move(labels)}] += number;
    }
  }
}

double ServiceNumbers::Value(const Labels& labels, ServiceMetric metric) const {
  const auto found = values_.find({std::string(trace::SpecOf(metric).name), labels});
  return found == values_.end() ? 0 : found->second;
}

std::vector<Labels> ServiceNumbers::Having(ServiceMetric metric) const {
  const std::string name(trace::SpecOf(metric).name);
  std::vector<Labels> all;
  for (auto each = values_.lower_bound({name, {}}); each != values_.end() && each->first.first == name; ++each) {
    all.push_back(each->first.second);
  }
  return all;
}

ServiceActivity ServiceActivityBetween(pid_t process, const ServiceNumbers& before, const ServiceNumbers& now,
                                       bool of_queue_pairs, double seconds) {
  const Difference difference(before, now, seconds);
  ServiceActivity activity;
  activity.process = process;
  activity.turns = difference.Rate({}, ServiceMetric::kTurns);
  activity.sleeps = difference.Rate({}, ServiceMetric::kSleeps);
  activity.wakes = difference.Rate({}, ServiceMetric::kWakes);
  for (const Labels& labels : now.Having(of_queue_pairs ? ServiceMetric::kPairRequests : ServiceMetric::kRequests)) {
    if (LabelOf(labels, "client") == "ended") continue;  // they do nothing any more
    activity.clients.push_back((of_queue_pairs ? QueuePairOf : ProcessOf)(labels, difference));
  }
  std::stable_sort(activity.clients.begin(), activity.clients.end(),
                   [](const ServiceClient& a, const ServiceClient& b) { return Rate(a) > Rate(b); });
  for (const Labels& labels : now.Having(ServiceMetric::kTrunks)) {
    activity.peers.push_back({.host = LabelOf(labels, "peer"),
                              .trunks = difference.Now(labels, ServiceMetric::kTrunks),
                              .queue_pairs = difference.Now(labels, ServiceMetric::kTrunkQueuePairs),
                              .under_way = difference.Now(labels, ServiceMetric::kTrunkUnderWay),
                              .waits = difference.Rate(labels, ServiceMetric::kTrunkWaits)});
  }
  return activity;
}

}  // namespace skein
