// What skeind counts for other processes: one table, from which its metrics and their page come (core/service has the
// numbers).
#ifndef SKEIN_CORE_TRACE_SERVICE_METRICS_H_
#define SKEIN_CORE_TRACE_SERVICE_METRICS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/trace/metric_family.h"

namespace skein::trace {

enum class ServiceMetric : uint8_t {
  kTurns,
  kSleeps,
  kWakes,
  kSessionsRefused,
  kSessions,  // to kRefusals: of a process
  kQueuePairs,
  kRegisteredBytes,
  kUnderWay,
  kRequests,
  kRequestBytes,
  kArrivals,
  kArrivedBytes,
  kRefusals,
  kTrunks,  // to kTrunkWaits: of another host
  kTrunkQueuePairs,
  kTrunkUnderWay,
  kTrunkWaits,
  kPairUnderWay,  // to the end: of a virtual queue pair
  kPairRequests,
  kPairRequestBytes,
  kPairArrivals,
  kPairArrivedBytes,
};
inline constexpr size_t kServiceMetrics = 22;

struct ServiceMetricSpec {
  ServiceMetric metric;
  absl::string_view name;
  MetricType type;
  absl::string_view labels;  // for the page
  absl::string_view help;
};

inline constexpr absl::string_view kOfProcess = "user, client";
inline constexpr absl::string_view kOfPair = "user, client, queue_pair, peer";

inline constexpr std::array<ServiceMetricSpec, kServiceMetrics> kServiceTable = {{
    {ServiceMetric::kTurns, "skein_service_turns_total", MetricType::kCounter, "", "Rounds of skeind's thread."},
    {ServiceMetric::kSleeps, "skein_service_sleeps_total", MetricType::kCounter, "",
     "Times that skeind's thread slept."},
    {ServiceMetric::kWakes, "skein_service_wakes_total", MetricType::kCounter, "",
     "Sleeps that a process, another skeind or the device ended."},
    {ServiceMetric::kSessionsRefused, "skein_service_sessions_refused_total", MetricType::kCounter, "",
     "Sessions that skeind refused because the user had enough."},
    {ServiceMetric::kSessions, "skein_service_sessions", MetricType::kGauge, kOfProcess,
     "Sessions of the process with skeind now, one for each of its addresses."},
    {ServiceMetric::kQueuePairs, "skein_service_queue_pairs", MetricType::kGauge, kOfProcess,
     "Virtual queue pairs of the process now."},
    {ServiceMetric::kRegisteredBytes, "skein_service_registered_bytes", MetricType::kGauge, kOfProcess,
     "Memory that skeind has registered for the process now."},
    {ServiceMetric::kUnderWay, "skein_service_under_way", MetricType::kGauge, kOfProcess,
     "Requests of the process that the device has now."},
    {ServiceMetric::kRequests, "skein_service_requests_total", MetricType::kCounter, kOfProcess,
     "Requests of the process that skeind handed to the device."},
    {ServiceMetric::kRequestBytes, "skein_service_request_bytes_total", MetricType::kCounter, kOfProcess,
     "Bytes that these moved, in either direction."},
    {ServiceMetric::kArrivals, "skein_service_arrivals_total", MetricType::kCounter, kOfProcess,
     "Messages of peers that skeind told the process of, each a WRITE with an immediate."},
    {ServiceMetric::kArrivedBytes, "skein_service_arrived_bytes_total", MetricType::kCounter, kOfProcess,
     "Bytes of these."},
    {ServiceMetric::kRefusals, "skein_service_refusals_total", MetricType::kCounter, kOfProcess,
     "Requests of the process that skeind refused."},
    {ServiceMetric::kTrunks, "skein_service_trunks", MetricType::kGauge, "peer",
     "Shared queue pairs to the other host now."},
    {ServiceMetric::kTrunkQueuePairs, "skein_service_trunk_queue_pairs", MetricType::kGauge, "peer",
     "Virtual queue pairs on them now."},
    {ServiceMetric::kTrunkUnderWay, "skein_service_trunk_under_way", MetricType::kGauge, "peer",
     "Requests on them that have not ended, now."},
    {ServiceMetric::kTrunkWaits, "skein_service_trunk_waits_total", MetricType::kCounter, "peer",
     "Times that a virtual queue pair waited because a shared one was full."},
    {ServiceMetric::kPairUnderWay, "skein_service_pair_under_way", MetricType::kGauge, kOfPair,
     "Requests of the virtual queue pair that the device has now."},
    {ServiceMetric::kPairRequests, "skein_service_pair_requests_total", MetricType::kCounter, kOfPair,
     "Its requests that skeind handed to the device."},
    {ServiceMetric::kPairRequestBytes, "skein_service_pair_request_bytes_total", MetricType::kCounter, kOfPair,
     "Bytes that these moved, in either direction."},
    {ServiceMetric::kPairArrivals, "skein_service_pair_arrivals_total", MetricType::kCounter, kOfPair,
     "Messages of its peer that skeind told the process of."},
    {ServiceMetric::kPairArrivedBytes, "skein_service_pair_arrived_bytes_total", MetricType::kCounter, kOfPair,
     "Bytes of these."},
}};

constexpr const ServiceMetricSpec& SpecOf(ServiceMetric metric) { return kServiceTable[static_cast<size_t>(metric)]; }

// Without samples.
inline MetricFamily FamilyOf(ServiceMetric metric) {
  const ServiceMetricSpec& spec = SpecOf(metric);
  return {std::string(spec.name), std::string(spec.help), spec.type, {}};
}

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_SERVICE_METRICS_H_
