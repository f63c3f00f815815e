#include "core/trace/metrics.h"

#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/trace/prometheus.h"
#include "core/trace/quoted.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/trace/samples.h"

namespace skein::trace {
namespace {

MetricFamilies Requests(const std::string& value) {
  return {{"requests", "All.", MetricType::kCounter, {{{{"path", "shm"}}, value, {}, "", ""}}}};
}

TEST(MetricsTest, OfSeveralSourcesEachFamilyIsThereOnce) {
  MetricFamilies all;
  for (const char* source : {"one", "t\"w\no"}) {
    MetricFamilies families = Requests("1");
    AddLabel(families, "source", source);
    Merge(all, families);
  }
  EXPECT_EQ(PrometheusText(all),
            "# HELP requests All.\n# TYPE requests counter\n"
            "requests{path=\"shm\",source=\"one\"} 1\n"
            "requests{path=\"shm\",source=\"t\\\\\\\"w\\\\no\"} 1\n");
}

TEST(MetricsTest, AFamilyIsOfOneType) {
  MetricFamilies all = Requests("1");
  MetricFamilies gauge = Requests("2");
  gauge[0].type = MetricType::kGauge;
  Merge(all, gauge);
  EXPECT_EQ(all, Requests("1"));
}

TEST(MetricsTest, WhatAnotherProcessTellsIsOursOrNone) {
  const MetricFamilies ours = MetricsOf(ReadCounters(), {}, MethodTable());
  EXPECT_TRUE(CheckMetrics(ours).ok());
  EXPECT_FALSE(CheckMetrics(Requests("1")).ok()) << "another name";
  MetricFamilies other = ours;
  other[0].type = MetricType::kGauge;
  EXPECT_FALSE(CheckMetrics(other).ok()) << "another type";
  for (const char* label : {"process", "library", "a b{", ""}) {
    other = ours;
    AddLabel(other, label, "1");
    EXPECT_FALSE(CheckMetrics(other).ok()) << label;
  }
}

MetricFamily& Named(MetricFamilies& families, const std::string& name) {
  for (MetricFamily& family : families) {
    if (family.name == name) return family;
  }
  ADD_FAILURE() << name;
  return families[0];
}

TEST(MetricsTest, OneProcessSpoilsNoScrape) {
  ASSERT_TRUE(CheckMetrics(AllMetrics()).ok()) << CheckMetrics(AllMetrics());
  const std::vector<std::pair<const char*, std::function<void(MetricFamilies&)>>> spoilt = {
      {"help", [](MetricFamilies& all) { all[0].help = "\x1b[31mhelp"; }},
      {"a family twice", [](MetricFamilies& all) { all.push_back(all[0]); }},
      {"bytes that are no text", [](MetricFamilies& all) { all[0].metrics[0].labels[0].second = "\xff"; }},
      {"a cursor", [](MetricFamilies& all) { all[0].metrics[0].labels[0].second = "\x1b[31m"; }},
      {"a line", [](MetricFamilies& all) { all[0].metrics[0].labels[0].second = "a\nb"; }},
      {"a label twice", [](MetricFamilies& all) { all[0].metrics[0].labels.emplace_back("path", "again"); }},
      {"a sample twice", [](MetricFamilies& all) { all[0].metrics.push_back(all[0].metrics[0]); }},
      {"a summary twice",
       [](MetricFamilies& all) {
         MetricFamily& calls = Named(all, "skein_call_seconds");
         calls.metrics.push_back(calls.metrics.front());
       }},
      {"a quantile twice",
       [](MetricFamilies& all) {
         auto& quantiles = Named(all, "skein_call_seconds").metrics[0].quantiles;
         quantiles[1] = quantiles[0];
       }},
      {"a strange quantile",
       [](MetricFamilies& all) { Named(all, "skein_call_seconds").metrics[0].quantiles[0].first = "0.5\x1b"; }},
  };
  for (const auto& [what, spoil] : spoilt) {
    MetricFamilies all = AllMetrics();
    spoil(all);
    EXPECT_EQ(CheckMetrics(all).code(), absl::StatusCode::kDataLoss) << what;
  }
}

// Of peers that name methods as they like: as bytes, and as what a cut name looks like.
TEST(MetricsTest, NamesOfMethodsAreBoundedAndDifferent) {
  const std::string longest(MethodTable::kMostBytes, 'm');
  const std::string escaped = "e" + std::string(longest.size() - 1, '\xff');
  const std::string other = std::string(longest.size() - 1, '\xff') + "e";
  MethodTable methods;
  Aggregate aggregate;
  for (const std::string& name : {longest, escaped, other, escaped.substr(0, 32), other.substr(0, 32)}) {
    aggregate.Add(CompleteCall(methods.Intern(name), 5));
  }
  for (const auto& [method, name] : {std::pair(methods.Intern(escaped), escaped), {methods.Intern(other), other}}) {
    aggregate.Add(CompleteCall(methods.Intern(absl::StrCat(name.substr(0, 32), "\\~", method)), 5));
    aggregate.Add(CompleteCall(methods.Intern(absl::StrCat(name.substr(0, 32), "~", method)), 5));
  }
  MetricFamilies families = MetricsOf({}, aggregate.Snapshot(), methods);
  EXPECT_TRUE(CheckMetrics(families).ok());
  std::set<std::string> names;
  for (const Metric& metric : Named(families, "skein_call_seconds").metrics) {
    names.insert(metric.labels.back().second);
    EXPECT_LE(InQuotes(metric.labels.back().second).size(), MethodTable::kMostBytes + 2);
  }
  EXPECT_EQ(names.size(), 9u);
  EXPECT_EQ(names.count(longest), 1u);
}

TEST(MetricsTest, ReferencePageIsInStep) {
  std::ifstream file(SKEIN_METRICS_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), MetricsMarkdown()) << "run skein_write_metrics docs/metrics.md";
}

}  // namespace
}  // namespace skein::trace
