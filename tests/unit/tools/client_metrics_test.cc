#include "tools/skein/client_metrics.h"

#include <prometheus/text_serializer.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/trace/prometheus.h"
#include "core/trace/quoted.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/trace/samples.h"

namespace skein {
namespace {

using trace::MetricType;

std::string Served(const trace::MetricFamilies& families) {
  return prometheus::TextSerializer().Serialize(ClientMetrics(families));
}

TEST(ClientMetricsTest, EachTypeIsServedAsWhatItIs) {
  EXPECT_EQ(Served({{"calls", "All.", MetricType::kCounter, {{{{"path", "shm"}}, "12", {}, "", ""}}},
                    {"bytes", "Now.", MetricType::kGauge, {{{}, "-5", {}, "", ""}}},
                    {"time", "Long.", MetricType::kSummary, {{{{"a", "b"}}, "", {{"0.5", "0.25"}}, "1.5", "3"}}}}),
            "# HELP calls All.\n# TYPE calls counter\ncalls{path=\"shm\"} 12\n"
            "# HELP bytes Now.\n# TYPE bytes gauge\nbytes -5\n"
            "# HELP time Long.\n# TYPE time summary\n"
            "time_count{a=\"b\"} 3\ntime_sum{a=\"b\"} 1.5\ntime{a=\"b\",quantile=\"0.5\"} 0.25\n");
}

TEST(ClientMetricsTest, NamesOfAnyBytesAreServedAsTheyAreWritten) {
  trace::MetricFamilies families = {{"calls", "All.", MetricType::kCounter, {}}};
  for (const std::string& name : trace::HostileNames()) {
    families[0].metrics.push_back({{{"method", trace::Printable(name)}}, "1", {}, "", ""});
  }
  EXPECT_EQ(Served(families), trace::PrometheusText(families));
}

TEST(ClientMetricsTest, WhatIsNoNumberIsServedAsNone) {
  EXPECT_EQ(Served({{"calls", "All.", MetricType::kCounter, {{{}, "many", {}, "", ""}}}}),
            "# HELP calls All.\n# TYPE calls counter\ncalls Nan\n");
}

}  // namespace
}  // namespace skein
