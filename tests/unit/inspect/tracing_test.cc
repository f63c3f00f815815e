// Figures of traced calls, from one process to another.
#include "core/inspect/tracing.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "core/inspect/attachment.h"
#include "core/trace/counters.h"
#include "core/trace/metrics.h"
#include "core/trace/prometheus.h"
#include "core/trace/tracer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/idle_process.h"
#include "tests/unit/inspect/answering.h"

namespace skein::inspect {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

trace::Record Call(uint64_t begin, uint64_t end) {
  trace::Record record;
  record.method = trace::Methods().Intern("/a.B/C\n\t\xff");
  trace::At(record.times, trace::Stage::kSubmitted) = begin;
  trace::At(record.times, trace::Stage::kQueued) = begin + 10;
  trace::At(record.times, trace::Stage::kDelivered) = end;
  return record;
}

TEST(TracingTest, FiguresAreReadAsTheyWereTold) {
  trace::Aggregate aggregate;
  aggregate.Add(Call(1000, 1100));
  aggregate.Add(Call(1000, 1300));
  const std::vector<SeriesFigures> told = FiguresOf(aggregate.Snapshot(), trace::Methods());
  ASSERT_EQ(told.size(), 3u) << "two intervals and the whole";
  const absl::StatusOr<std::vector<SeriesFigures>> read = DecodeSeries(EncodeSeries(told));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, told);
  uint64_t whole = 0;
  uint64_t parts = 0;
  for (const SeriesFigures& figures : *read) {
    EXPECT_EQ(figures.count, 2u);
    EXPECT_EQ(figures.method, "/a.B/C\n\t\xff");
    (figures.whole ? whole : parts) += figures.sum;
  }
  EXPECT_EQ(whole, 400u);
  EXPECT_EQ(parts, whole);
}

TEST(TracingTest, OtherTextIsNone) {
  for (const char* text : {"x\n", "1\t1\t1\ta\tb\tc\td\t1\t2\t3\t4\t5\t6\t7\t8\t-9\n"}) {
    EXPECT_EQ(DecodeSeries(text).status().code(), absl::StatusCode::kDataLoss) << text;
  }
}

// As the command does it, with this process as the one that is asked.
TEST(TracingTest, IsSwitchedByWhoAsks) {
  HandleTracing();
  EXPECT_EQ(*Ask(getpid(), "trace"), "0");
  ASSERT_TRUE(Ask(getpid(), "trace 1").ok());
  EXPECT_EQ(*Ask(getpid(), "trace"), "1");
  trace::Push(Call(1000, 1100));
  EXPECT_EQ(DecodeSeries(*Ask(getpid(), "series"))->size(), 3u);
  EXPECT_THAT(*Ask(getpid(), "metrics"), HasSubstr("skein_call_seconds_count"));
  ASSERT_TRUE(Ask(getpid(), "trace clear").ok());
  EXPECT_THAT(*DecodeSeries(*Ask(getpid(), "series")), IsEmpty());
  ASSERT_TRUE(Ask(getpid(), "trace 0").ok());
  EXPECT_FALSE(trace::Enabled());
  // For a while.
  ASSERT_TRUE(Ask(getpid(), "trace 3").ok());
  ASSERT_TRUE(Ask(getpid(), "trace 1 60").ok());
  ASSERT_TRUE(Ask(getpid(), "trace 2 60").ok());
  EXPECT_EQ(*Ask(getpid(), "trace"), "2");
  ASSERT_TRUE(Ask(getpid(), "trace back").ok());
  EXPECT_EQ(*Ask(getpid(), "trace"), "3");
  ASSERT_TRUE(Ask(getpid(), "trace 1 0").ok());  // over before the next question is heard
  EXPECT_EQ(*Ask(getpid(), "trace"), "3");
  ASSERT_TRUE(Ask(getpid(), "trace 1 60").ok());
  ASSERT_TRUE(Ask(getpid(), "trace 0").ok());  // what is said without a time stays
  ASSERT_TRUE(Ask(getpid(), "trace back").ok());
  EXPECT_EQ(*Ask(getpid(), "trace"), "0");
  // What the program says meanwhile stays, too.
  ASSERT_TRUE(Ask(getpid(), "trace 1 60").ok());
  trace::SetSampling(5);
  ASSERT_TRUE(Ask(getpid(), "trace back").ok());
  EXPECT_EQ(*Ask(getpid(), "trace"), "5");
  ASSERT_TRUE(Ask(getpid(), "trace 0").ok());
  EXPECT_THAT(Ask(getpid(), "trace 1 for ever").status().message(), HasSubstr("a number of calls"));
  EXPECT_THAT(Ask(getpid(), "trace 1 x").status().message(), HasSubstr("seconds"));
  EXPECT_THAT(Ask(getpid(), "trace often").status().message(), HasSubstr("a number of calls"));
}

// As if this process had a library for gRPC and one for Thrift.
TEST(TracingTest, TheMetricsOfTwoLibrariesAreOneText) {
  HandleTracing();
  const Answering second(getpid(), 1,
                         Ok("# HELP skein_wake_ups_total Times that a sleeping thread of this process was woken by a "
                            "link.\n# TYPE skein_wake_ups_total counter\n"
                            "skein_wake_ups_total 12345\n"));
  ASSERT_TRUE(second.ok());
  const absl::StatusOr<trace::MetricFamilies> metrics = AskMetrics(getpid());
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  const std::string text = trace::PrometheusText(*metrics);
  EXPECT_THAT(text, HasSubstr("skein_wake_ups_total{library=\"0\"} 0\nskein_wake_ups_total{library=\"1\"} 12345\n"));
  EXPECT_EQ(text.find("# TYPE skein_wake_ups_total"), text.rfind("# TYPE skein_wake_ups_total"));
}

// What two libraries tell at most: each has all the series that it may have, of methods with the longest names, and all
// those of the other methods.
TEST(TracingTest, MetricsOfAllSeriesAreTaken) {
  trace::MethodTable methods;
  trace::Aggregate aggregate;
  for (size_t method = 0; method < 2 * trace::MethodTable::kMostMethods; ++method) {
    std::string name = absl::StrCat(method);
    name.resize(trace::MethodTable::kMostBytes, method % 2 == 0 ? 'm' : '\xff');
    const uint32_t number = methods.Intern(name);
    for (size_t from = 0; from < trace::kStages; ++from) {
      trace::Record record = Call(1000, 900'000'000'000'000);
      record.method = number;
      record.times = {};
      for (size_t stage = from; stage < trace::kStages; ++stage) record.times[stage] = 1000;
      record.times[trace::kStages - 1] = 900'000'000'000'000;
      aggregate.Add(record);
    }
  }
  const std::string text =
      trace::PrometheusText(trace::MetricsOf(trace::ReadCounters(), aggregate.Snapshot(), methods));
  EXPECT_GT(aggregate.Snapshot().size(), trace::Aggregate::kMostSeries);
  EXPECT_GT(text.size(), size_t{2} << 20);
  const IdleProcess other;
  const Answering one(other.pid(), 0, Ok(text));
  const Answering two(other.pid(), 1, Ok(text));
  ASSERT_TRUE(one.ok() && two.ok());
  const absl::StatusOr<trace::MetricFamilies> told = AskMetrics(other.pid());
  EXPECT_TRUE(told.ok()) << told.status();
}

// Each sample takes a hundred times the bytes that tell it.
TEST(TracingTest, MetricsOfMoreThanAllSeriesAreNotTaken) {
  const IdleProcess other;
  std::string text =
      "# HELP skein_fallbacks_total Connections that are not on a better path, by the reason.\n"
      "# TYPE skein_fallbacks_total counter\n";
  for (int i = 0; i < 40'000; ++i) absl::StrAppend(&text, "skein_fallbacks_total{reason=\"", i, "\"} 1\n");
  for (const std::string& each : {text, text.substr(0, 1000) + std::string(11 << 20, ' ')}) {
    const Answering answering(other.pid(), 0, Ok(each));
    ASSERT_TRUE(answering.ok());
    EXPECT_EQ(AskMetrics(other.pid()).status().code(), absl::StatusCode::kResourceExhausted);
  }
}

TEST(TracingTest, MetricsThatWouldSpoilAScrapeAreNotTaken) {
  const std::string head =
      "# HELP skein_wake_ups_total Times that a sleeping thread of this process was woken by a link.\n"
      "# TYPE skein_wake_ups_total counter\n";
  const IdleProcess other;
  for (const char* samples :
       {"skein_wake_ups_total{path=\"\xff\xfe\"} 1\n", "skein_wake_ups_total{path=\"\x1b[2J\"} 1\n",
        "skein_wake_ups_total{path=\"a\",path=\"b\"} 2\n", "skein_wake_ups_total NaN\n",
        "skein_wake_ups_total 1\nskein_wake_ups_total 1\n"}) {
    const Answering answering(other.pid(), 0, Ok(head + samples));
    ASSERT_TRUE(answering.ok());
    EXPECT_EQ(AskMetrics(other.pid()).status().code(), absl::StatusCode::kDataLoss) << samples;
  }
  const Answering answering(other.pid(), 0, Ok(head + "skein_wake_ups_total 1\n"));
  EXPECT_TRUE(AskMetrics(other.pid()).ok());
}

}  // namespace
}  // namespace skein::inspect
