#include "core/trace/metrics.h"

#include <fstream>
#include <sstream>
#include <string>

#include "core/trace/prometheus.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

TEST(MetricsTest, ReferencePageIsInStep) {
  std::ifstream file(SKEIN_METRICS_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), MetricsMarkdown()) << "run skein_write_metrics docs/metrics.md";
}

}  // namespace
}  // namespace skein::trace
