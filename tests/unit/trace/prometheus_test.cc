#include "core/trace/prometheus.h"

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_split.h"
#include "core/base/fallback.h"
#include "core/trace/method_table.h"
#include "core/trace/record.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/trace/samples.h"

namespace skein::trace {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::vector<std::string> Lines(const CounterSnapshot& counters, Aggregate& aggregate, const MethodTable& methods) {
  return absl::StrSplit(PrometheusText(counters, aggregate.Snapshot(), methods), '\n');
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

TEST(PrometheusTest, ReferencePageIsInStep) {
  std::ifstream file(SKEIN_METRICS_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), MetricsMarkdown()) << "run skein_write_metrics docs/metrics.md";
}

}  // namespace
}  // namespace skein::trace
