#include "tools/skein/merged_trace.h"

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/trace/aggregate.h"
#include "core/trace/chrome_trace.h"
#include "core/trace/method_table.h"
#include "core/trace/record.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/trace/samples.h"
#include "tools/skein/recorded_trace.h"

namespace skein {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAreArray;

TEST(MergedTraceTest, OneAloneIsLeftAsItIs) { EXPECT_EQ(*MergedTrace({"any text"}), "any text"); }

TEST(MergedTraceTest, HasTheCallsOfAllAndALinkOfItsOwnForEach) {
  trace::MethodTable methods;
  std::vector<trace::Record> all;
  std::vector<std::string> traces;
  for (const std::string& name : {std::string("/greeter.Greeter/Say"), std::string("a\"\\\xff")}) {
    std::vector<trace::Record> records(3, trace::CompleteCall(methods.Intern(name), 1'000'000'000'000'001));
    records[1].link = 1;
    all.insert(all.end(), records.begin(), records.end());
    traces.push_back(trace::ChromeTrace(records, methods));
  }
  traces.push_back(trace::ChromeTrace({}, methods));
  const absl::StatusOr<std::string> merged = MergedTrace(traces);
  ASSERT_TRUE(merged.ok()) << merged.status();

  trace::Aggregate aggregate;
  for (const trace::Record& record : all) aggregate.Add(record);
  std::istringstream text(*merged);
  EXPECT_THAT(*FiguresOfTrace(text), UnorderedElementsAreArray(inspect::FiguresOf(aggregate.Snapshot(), methods)));
  std::multiset<int> links;
  const nlohmann::json events = nlohmann::json::parse(*merged)["traceEvents"];
  for (const auto& event : events) {
    if (event["ph"] == "M") links.insert(event["pid"].get<int>());
  }
  EXPECT_THAT(links, ElementsAre(1, 2, 3, 4));
}

TEST(MergedTraceTest, SomethingElseIsNone) {
  const std::string whole = trace::ChromeTrace({}, trace::MethodTable());
  for (const char* other : {"", "[]", "{}", "{\"traceEvents\":[{}]}", "{\"traceEvents\":[{\"pid\":\"1\"}]}"}) {
    EXPECT_EQ(MergedTrace({whole, other}).status().code(), absl::StatusCode::kDataLoss) << other;
  }
}

// Of a process that answers so, for a command whose stack has an end.
TEST(MergedTraceTest, WhatIsNestedDeeplyIsNone) {
  const std::string whole = trace::ChromeTrace({}, trace::MethodTable());
  const std::string nested = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  for (const std::string& deep : {absl::StrCat("{\"traceEvents\":[],\"x\":", nested, "}"),
                                  absl::StrCat("{\"traceEvents\":[{\"pid\":1,\"x\":", nested, "}]}")}) {
    EXPECT_EQ(MergedTrace({deep, whole}).status().code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(MergedTrace({whole, deep}).status().code(), absl::StatusCode::kDataLoss);
  }
}

}  // namespace
}  // namespace skein
