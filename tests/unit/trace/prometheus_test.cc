#include "core/trace/prometheus.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/fallback.h"
#include "core/trace/method_table.h"
#include "core/trace/metrics.h"
#include "core/trace/record.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/trace/samples.h"

namespace skein::trace {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::vector<std::string> Lines(const CounterSnapshot& counters, Aggregate& aggregate, const MethodTable& methods) {
  return absl::StrSplit(PrometheusText(MetricsOf(counters, aggregate.Snapshot(), methods)), '\n');
}

TEST(PrometheusTest, CountersAreThereBeforeTheyCountButReasonsOnlyIfTheyWere) {
  Aggregate aggregate;
  const MethodTable methods;
  CounterSnapshot counters;
  counters.values[SlotOf(Counter::kBytesSent) + static_cast<size_t>(Path::kRdma)] = 1234;
  counters.values[SlotOf(Counter::kFallbacks) + static_cast<size_t>(FallbackCode::kDifferentUser)] = 3;
  counters.values[SlotOf(Counter::kRegisteredBytes)] = static_cast<uint64_t>(-5);
  const std::vector<std::string> lines = Lines(counters, aggregate, methods);
  EXPECT_THAT(lines, IsSupersetOf<std::string>({
                         "# TYPE skein_bytes_sent_total counter",
                         "skein_bytes_sent_total{path=\"shm\"} 0",
                         "skein_bytes_sent_total{path=\"rdma\"} 1234",
                         "skein_fallbacks_total{reason=\"different user\"} 3",
                         "# TYPE skein_registered_bytes gauge",
                         "skein_registered_bytes -5",
                         "skein_trace_records_dropped_total 0",
                     }));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("different host"))));
}

TEST(PrometheusTest, DurationsAreSummariesInSeconds) {
  Aggregate aggregate;
  MethodTable methods;
  Record record = CompleteCall(methods.Intern("/greeter.Greeter/Say"), 5);
  aggregate.Add(record);
  aggregate.Add(record);
  EXPECT_THAT(
      Lines({}, aggregate, methods),
      IsSupersetOf<std::string>({
          "# TYPE skein_call_seconds summary",
          R"(skein_call_seconds{path="shm",side="client",method="/greeter.Greeter/Say",quantile="0.5"} 0.000010880)",
          R"(skein_call_seconds_sum{path="shm",side="client",method="/greeter.Greeter/Say"} 0.000022000)",
          R"(skein_call_seconds_count{path="shm",side="client",method="/greeter.Greeter/Say"} 2)",
          R"(skein_call_seconds_max{path="shm",side="client",method="/greeter.Greeter/Say"} 0.000011000)",
      }));
}

TEST(PrometheusTest, IntervalsSayWhoseTimeTheyAre) {
  Aggregate aggregate;
  aggregate.Add(CompleteCall(kNoMethod, 5));
  EXPECT_THAT(
      Lines({}, aggregate, MethodTable()),
      Contains(HasSubstr(R"(_max{path="shm",side="client",kind="call",interval="combining",work="software"})")));
}

TEST(PrometheusTest, MethodsOfHostilePeersAddNoLines) {
  Aggregate plain_aggregate;
  Aggregate aggregate;
  MethodTable methods;
  plain_aggregate.Add(CompleteCall(methods.Intern("plain"), 5));
  aggregate.Add(CompleteCall(methods.Intern("\"} 1\nskein_forged 1\n"), 5));
  EXPECT_EQ(Lines({}, aggregate, methods).size(), Lines({}, plain_aggregate, methods).size());
  EXPECT_THAT(Lines({}, aggregate, methods), Contains(HasSubstr(R"(method="\\\"} 1\\nskein_forged 1\\n")")));
}

TEST(PrometheusTest, IsReadAsItWasWritten) {
  const MetricFamilies written = AllMetrics();
  const absl::StatusOr<MetricFamilies> read = ParsePrometheusText(PrometheusText(written));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(*read == written);
  EXPECT_THAT(*ParsePrometheusText(""), IsEmpty());
}

TEST(PrometheusTest, WhatIsCutWithinALineOrASummaryIsNoText) {
  MethodTable methods;
  Aggregate aggregate;
  aggregate.Add(CompleteCall(methods.Intern("a\"b"), 5));
  const std::string whole = PrometheusText(MetricsOf({}, aggregate.Snapshot(), methods));
  size_t read = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    const absl::StatusOr<MetricFamilies> families = ParsePrometheusText(whole.substr(0, size));
    if (!families.ok()) continue;
    ++read;
    EXPECT_EQ(PrometheusText(*families), whole.substr(0, size));
  }
  EXPECT_GT(read, 10u) << "behind each counter";
  EXPECT_LT(read, static_cast<size_t>(std::count(whole.begin(), whole.end(), '\n')));
}

TEST(PrometheusTest, OtherTextIsNone) {
  const std::string head = "# HELP a b\n# TYPE a counter\n";
  const std::string summary = "# HELP s b\n# TYPE s summary\n";
  for (const std::string& text : {std::string("a 1\n"),
                                  std::string("\n"),
                                  std::string("# HELP a b\n"),
                                  std::string("# HELP a\n# TYPE a counter\n"),
                                  std::string("# TYPE a counter\n# HELP a b\n"),
                                  std::string("# HELP a b\n# TYPE c counter\n"),
                                  std::string("# HELP a b\n# TYPE a histogram\n"),
                                  head + "b 1\n",
                                  head + "a\n",
                                  head + "a x\n",
                                  head + "a 1 2\n",
                                  head + "a{} 1\n",
                                  head + "a{b} 1\n",
                                  head + "a{b=\"c} 1\n",
                                  head + "a{b=\"c\\\"} 1\n",
                                  head + "a{b=\"c\"1\n",
                                  head + "a{b=\"c\",} 1\n",
                                  head + "a{b=\"c\\",
                                  head + "a{b=\"\\n\"} 1\n",
                                  head + "a NaN\n",
                                  head + "a +Inf\n",
                                  head + "a 1e400\n",
                                  head + "a 1" + std::string(400, '0') + "\n",
                                  head + "a  1\n",
                                  head + "a 1\r\n",
                                  head + "a{" + absl::StrJoin(std::vector<std::string>(100, "b=\"\""), ",") + "} 1\n",
                                  summary + "s 1\n",
                                  summary + "s_sum 1\n",
                                  summary + "s_count 1\n",
                                  summary + "s{quantile=\"0.5\"} 1\n",
                                  summary + "s{quantile=\"0.5\"} 1\ns_count 1\n",
                                  summary + "s{quantile=\"0.5\"} 1\ns_sum 1\ns_count 1.5\n",
                                  summary + "s{quantile=\"0.5\"} 1\ns_sum inf\ns_count 1\n",
                                  summary + "s{quantile=\"0.5\"} 1\ns_sum{a=\"b\"} 1\ns_count{a=\"b\"} 1\n",
                                  summary + "s{quantile=\"0.5\"} 1\ns_sum 1\ns_sum 1\ns_count 1\n"}) {
    EXPECT_EQ(ParsePrometheusText(text).status().code(), absl::StatusCode::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace skein::trace
