#include "tools/skein/facts_json.h"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tools/skein/option_variables.h"

namespace skein {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kOneLine = -1;

std::string TextOf(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

std::string Text(absl::string_view text) { return std::string(text); }

template <typename T>
Json NullUnless(bool known, const T& value) {
  return known ? Json(value) : Json();
}

// As exact as it was told: whole numbers of 64 bits stay whole.
Json ExactNumber(const std::string& text) {
  uint64_t whole = 0;
  if (absl::SimpleAtoi(text, &whole)) return whole;
  double number = 0;
  return NullUnless(absl::SimpleAtod(text, &number) && std::isfinite(number), number);
}

Json JsonOf(const Activity& activity) {
  return {
      {"process", activity.process},
      {"name", activity.name},
      {"connections", activity.connections},
      {"messages_sent_per_second", activity.messages_sent},
      {"messages_received_per_second", activity.messages_received},
      {"bytes_sent_per_second", activity.bytes_sent},
      {"bytes_received_per_second", activity.bytes_received},
      {"coalesced_percent", NullUnless(activity.coalesced_percent.has_value(), activity.coalesced_percent.value_or(0))},
      {"spins_hit_percent", NullUnless(activity.spins_hit_percent.has_value(), activity.spins_hit_percent.value_or(0))},
      {"wake_ups_per_second", activity.wake_ups},
      {"p50_ns", NullUnless(activity.p50_ns > 0, activity.p50_ns)},
      {"p99_ns", NullUnless(activity.p99_ns > 0, activity.p99_ns)}};
}

Json JsonOf(const ServiceClient& client) {
  const bool is_pair = !client.queue_pair.empty();
  return {{"user", client.user},
          {"client", client.client},
          {"queue_pair", NullUnless(is_pair, client.queue_pair)},
          {"peer", NullUnless(!client.peer.empty(), client.peer)},
          {"requests_per_second", client.requests},
          {"request_bytes_per_second", client.request_bytes},
          {"arrivals_per_second", client.arrivals},
          {"arrived_bytes_per_second", client.arrived_bytes},
          {"refusals_per_second", NullUnless(!is_pair, client.refusals)},
          {"queue_pairs", client.queue_pairs},
          {"registered_bytes", NullUnless(!is_pair, client.registered_bytes)},
          {"under_way", client.under_way}};
}

Json JsonOf(const ServicePeer& peer) {
  return {{"host", peer.host},
          {"trunks", peer.trunks},
          {"queue_pairs", peer.queue_pairs},
          {"under_way", peer.under_way},
          {"waits_per_second", peer.waits}};
}

Json JsonOf(const ServiceActivity& activity) {
  Json clients = Json::array();
  for (const ServiceClient& client : activity.clients) clients.push_back(JsonOf(client));
  Json peers = Json::array();
  for (const ServicePeer& peer : activity.peers) peers.push_back(JsonOf(peer));
  return {{"process", activity.process},          {"turns_per_second", activity.turns},
          {"sleeps_per_second", activity.sleeps}, {"wakes_per_second", activity.wakes},
          {"clients", std::move(clients)},        {"peers", std::move(peers)}};
}

Json JsonOf(const inspect::SeriesFigures& figures) {
  return {{"name", figures.whole ? "from end to end" : figures.interval},
          {"work", NullUnless(!figures.whole, figures.work)},
          {"part", IsPart(figures)},
          {"count", figures.count},
          {"p50_ns", figures.p50},
          {"p90_ns", figures.p90},
          {"p99_ns", figures.p99},
          {"p999_ns", figures.p999},
          {"max_ns", figures.max},
          {"sum_ns", figures.sum},
          {"clock_error_ns", figures.clock_error}};
}

Json JsonOf(const trace::Metric& metric, trace::MetricType type) {
  Json json = {{"labels", Json::object()}};
  for (const auto& [name, value] : metric.labels) json["labels"][name] = value;
  if (type != trace::MetricType::kSummary) {
    json["value"] = ExactNumber(metric.value);
    return json;
  }
  json["quantiles"] = Json::object();
  for (const auto& [quantile, value] : metric.quantiles) json["quantiles"][quantile] = ExactNumber(value);
  json["sum"] = ExactNumber(metric.sum);
  json["count"] = ExactNumber(metric.count);
  return json;
}

absl::string_view NameOf(trace::MetricType type) {
  switch (type) {
    case trace::MetricType::kCounter:
      return "counter";
    case trace::MetricType::kGauge:
      return "gauge";
    case trace::MetricType::kSummary:
      return "summary";
  }
  return "unknown";
}

}  // namespace

std::string PathJson(pid_t process, const std::string& name, const inspect::LivePath& path) {
  return TextOf({{"process", process},
                 {"name", name},
                 {"framework", path.framework},
                 {"role", path.client ? "client" : "server"},
                 {"local", path.local},
                 {"peer", path.peer},
                 {"path", path.path},
                 {"tls", path.secure},
                 {"below_http2", path.below_http2},
                 {"why_not_better", path.why}},
                kOneLine);
}

std::string ActivitiesJson(const std::vector<Activity>& activities) {
  Json all = Json::array();
  for (const Activity& activity : activities) all.push_back(JsonOf(activity));
  return TextOf(all, kOneLine);
}

std::string ServiceActivitiesJson(const std::vector<ServiceActivity>& activities) {
  Json all = Json::array();
  for (const ServiceActivity& activity : activities) all.push_back(JsonOf(activity));
  return TextOf(all, kOneLine);
}

std::string StagesJson(const std::vector<StageGroup>& groups) {
  Json all = Json::array();
  for (const StageGroup& group : groups) {
    const inspect::SeriesFigures& first = group.front();
    Json stages = Json::array();
    for (const inspect::SeriesFigures& figures : group) stages.push_back(JsonOf(figures));
    all.push_back({{"kind", first.call ? "call" : "message"},
                   {"path", first.path},
                   {"side", first.client ? "client" : "server"},
                   {"method", first.method},
                   {"stages", std::move(stages)}});
  }
  return TextOf(all);
}

std::string MetricsJson(const trace::MetricFamilies& families) {
  Json all = Json::array();
  for (const trace::MetricFamily& family : families) {
    Json metrics = Json::array();
    for (const trace::Metric& metric : family.metrics) metrics.push_back(JsonOf(metric, family.type));
    all.push_back({{"name", family.name},
                   {"help", family.help},
                   {"type", Text(NameOf(family.type))},
                   {"metrics", std::move(metrics)}});
  }
  return TextOf(all);
}

std::string OptionsJson(absl::Span<const OptionSpec> options) {
  Json all = Json::array();
  for (const OptionSpec& option : options) {
    all.push_back({{"name", Text(option.name)},
                   {"argument", absl::StrCat("skein.", option.name)},
                   {"variables", VariablesOf(option)},
                   {"allowed", Text(option.allowed)},
                   {"unit", Text(option.unit)},
                   {"default", Text(option.default_value)},
                   {"meaning", Text(option.doc)}});
  }
  return TextOf(all);
}

std::string FindingsJson(const std::vector<doctor::Finding>& findings) {
  Json all = Json::array();
  for (const doctor::Finding& finding : findings) {
    all.push_back({{"verdict", finding.verdict}, {"fact", finding.fact}, {"advice", finding.advice}});
  }
  return TextOf(all);
}

}  // namespace skein
