#include "tools/skein/recorded_trace.h"

#include <cstdint>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "core/trace/aggregate.h"
#include "core/trace/chrome_trace.h"
#include "core/trace/method_table.h"
#include "core/trace/record.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/trace/samples.h"

namespace skein {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

absl::StatusOr<std::vector<inspect::SeriesFigures>> Read(const std::string& text) {
  std::istringstream trace(text);
  return FiguresOfTrace(trace);
}

// That the trace of these records gives the very figures that their process would have told.
void ExpectTheSameFigures(const std::vector<trace::Record>& records, const trace::MethodTable& methods) {
  trace::Aggregate aggregate;
  for (const trace::Record& record : records) aggregate.Add(record);
  const absl::StatusOr<std::vector<inspect::SeriesFigures>> read = Read(trace::ChromeTrace(records, methods));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(*read, UnorderedElementsAreArray(inspect::FiguresOf(aggregate.Snapshot(), methods)));
}

// Any stages known or not, in any order, as times of another host's clock may make it.
trace::Record RandomRecord(std::mt19937& random, uint32_t method) {
  trace::Record record;
  record.kind = random() % 4 == 0 ? trace::RecordKind::kMessage : trace::RecordKind::kCall;
  record.side = static_cast<trace::Side>(random() % 2);
  record.path = static_cast<trace::Path>(random() % 2);
  record.method = method;
  record.clock_error_ns = random() % 1000;
  for (uint64_t& time : record.times) {
    if (random() % 3 != 0) time = (uint64_t{1} << 50) + random() % 1'000'000;
  }
  return record;
}

TEST(RecordedTraceTest, FiguresAreThoseOfTheRecords) {
  trace::MethodTable methods;
  const uint32_t names[] = {trace::kNoMethod, trace::kOtherMethods, methods.Intern("/greeter.Greeter/Say")};
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<trace::Record> records(40);
    for (trace::Record& record : records) record = RandomRecord(random, names[random() % std::size(names)]);
    ExpectTheSameFigures(records, methods);
  }
}

TEST(RecordedTraceTest, NamesHaveAnyBytes) {
  trace::MethodTable methods;
  std::vector<trace::Record> records;
  for (const std::string& name : trace::HostileNames()) {
    trace::Record record;
    record.method = methods.Intern(name);
    At(record.times, trace::Stage::kSubmitted) = 1'000'000'000'000'001;
    At(record.times, trace::Stage::kDelivered) = 1'000'000'000'012'346;
    records.push_back(record);
  }
  ExpectTheSameFigures(records, methods);
}

// Longer than a histogram counts, and at the end of what a number can be.
TEST(RecordedTraceTest, TimesAreExactToTheNanosecondHoweverLarge) {
  trace::MethodTable methods;
  trace::Record record;
  At(record.times, trace::Stage::kSubmitted) = 1;
  At(record.times, trace::Stage::kDelivered) = std::numeric_limits<uint64_t>::max();
  record.clock_error_ns = std::numeric_limits<int64_t>::max();
  ExpectTheSameFigures({record}, methods);
  At(record.times, trace::Stage::kSubmitted) = std::numeric_limits<uint64_t>::max() - 1;
  ExpectTheSameFigures({record}, methods);
}

TEST(RecordedTraceTest, WithoutCallsThereAreNoFigures) {
  EXPECT_THAT(*Read(trace::ChromeTrace({}, trace::MethodTable())), IsEmpty());
}

TEST(RecordedTraceTest, NoPartOfATraceIsTakenForAll) {
  const std::string whole = trace::ChromeTrace({trace::CompleteCall(trace::kNoMethod, 5)}, trace::MethodTable());
  for (size_t size = 0; size + 2 < whole.size(); ++size) {
    const absl::Status status = Read(whole.substr(0, size)).status();
    ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << size;
    EXPECT_THAT(status.message(), HasSubstr("not to its end"));
  }
  EXPECT_EQ(Read(whole + whole).status().code(), absl::StatusCode::kInvalidArgument) << "nor two for one";
}

TEST(RecordedTraceTest, OtherTracesAreNone) {
  for (const char* other :
       {"{}", "[]", "1", "null", "\"skein record\"", R"([{"ph":"X","name":"a","ts":1,"dur":2,"args":{}}])",
        R"({"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":2}]})",
        R"({"otherData":{"writer":"skein record","form":1},"traceEvents":{}})",
        R"({"otherData":"skein record","traceEvents":[{"args":{"stages":{}}}]})",
        R"({"otherData":{"writer":"skein record","form":2},"traceEvents":[]})"}) {
    EXPECT_EQ(Read(other).status().code(), absl::StatusCode::kFailedPrecondition) << other;
  }
  EXPECT_EQ(Read(std::string(1'000'000, '[')).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Read("[1e999]").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(RecordedTraceTest, WhatWasChangedIsNotCounted) {
  trace::Record record = trace::CompleteCall(trace::kNoMethod, 5);
  record.clock_error_ns = 250;
  const std::string whole = trace::ChromeTrace({record}, trace::MethodTable());
  for (const auto& [was, is] : std::vector<std::pair<const char*, const char*>>{
           {"\"kind\":\"call\"", "\"kind\":\"cell\""},
           {"\"side\":\"client\"", "\"side\":1"},
           {"\"path\":\"shm\"", "\"path\":null"},
           {"\"method\":\"\"", "\"method\":\"\\\\x\""},
           {"\"submitted\":5", "\"submitted\":-5"},
           {"\"submitted\":5", "\"submitted\":5.5"},
           {"\"submitted\":5", "\"submitted\":18446744073709551616"},
           {"\"submitted\":5", "\"sent\":5"},
           {"\"clock_error_ns\":250", "\"clock_error_ns\":9223372036854775808"},
           {"\"clock_error_ns\":250", "\"clock_error_ns\":-1"}}) {
    const std::string changed = absl::StrReplaceAll(whole, {{was, is}});
    ASSERT_THAT(changed, Not(whole)) << was;
    EXPECT_EQ(Read(changed).status().code(), absl::StatusCode::kDataLoss) << is;
  }
}

}  // namespace
}  // namespace skein
