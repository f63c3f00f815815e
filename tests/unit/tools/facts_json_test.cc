// The JSON of facts, read again by what else reads JSON.
#include "tools/skein/facts_json.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/options.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein {
namespace {

using nlohmann::json;

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

bool IsPlain(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char letter) { return letter == '\n' || (letter >= ' ' && letter <= '~'); });
}

TEST(FactsJsonTest, APath) {
  const inspect::LivePath path{.framework = "grpc",
                               .client = true,
                               .local = "ipv4:127.0.0.1:1",
                               .peer = "ipv4:127.0.0.1:2",
                               .path = "tcp",
                               .why = "peer does not speak Skein",
                               .secure = true,
                               .below_http2 = false};
  const std::string text = PathJson(7, "client", path);
  EXPECT_EQ(text.find('\n'), text.npos);
  EXPECT_EQ(json::parse(text), (json{{"process", 7},
                                     {"name", "client"},
                                     {"framework", "grpc"},
                                     {"role", "client"},
                                     {"local", "ipv4:127.0.0.1:1"},
                                     {"peer", "ipv4:127.0.0.1:2"},
                                     {"path", "tcp"},
                                     {"tls", true},
                                     {"below_http2", false},
                                     {"why_not_better", "peer does not speak Skein"}}));
}

TEST(FactsJsonTest, WordsOfAProcessMoveNoCursorAndSpoilNoJson) {
  const std::string hostile = "\x1b[2J\xff\x7f\x9b\",\n\\";
  inspect::LivePath path;
  path.peer = hostile;
  inspect::SeriesFigures figures;
  figures.method = hostile;
  figures.interval = hostile;
  const trace::MetricFamilies families = {
      {"a", hostile, trace::MetricType::kGauge, {{{{"method", hostile}}, hostile, {}, "", ""}}}};
  Activity activity;
  activity.name = hostile;
  activity.connections[hostile] = 1;
  for (const std::string& text : {PathJson(1, hostile, path), StagesJson({{figures}}), MetricsJson(families),
                                  ActivitiesJson({activity}), FindingsJson({{"ok", hostile, hostile}})}) {
    EXPECT_TRUE(json::accept(text)) << text;
    EXPECT_TRUE(IsPlain(text)) << text;
  }
}

TEST(FactsJsonTest, StagesAreInNanosecondsAndWhole) {
  inspect::SeriesFigures wire;
  wire.path = "shm";
  wire.method = "/a.B/C";
  wire.whole = false;
  wire.interval = wire.work = "wire";
  wire.count = 3;
  wire.p50 = 5;
  wire.sum = kMost;
  inspect::SeriesFigures whole = wire;
  whole.whole = true;
  const json group = json::parse(StagesJson({{wire, whole}})).at(0);
  EXPECT_EQ(group.at("kind"), "call");
  EXPECT_EQ(group.at("path"), "shm");
  EXPECT_EQ(group.at("side"), "client");
  EXPECT_EQ(group.at("method"), "/a.B/C");
  const json& stage = group.at("stages").at(0);
  EXPECT_EQ(stage.at("name"), "wire");
  EXPECT_EQ(stage.at("part"), true);
  EXPECT_EQ(stage.at("count"), 3);
  EXPECT_EQ(stage.at("p50_ns"), 5);
  EXPECT_EQ(stage.at("sum_ns"), kMost);
  EXPECT_EQ(group.at("stages").at(1).at("name"), "from end to end");
  EXPECT_EQ(group.at("stages").at(1).at("part"), false);
}

TEST(FactsJsonTest, MetricsStayExact) {
  const trace::MetricFamilies families = {
      {"sent", "Sent.", trace::MetricType::kCounter, {{{{"path", "shm"}}, "18446744073709551615", {}, "", ""}}},
      {"seconds", "", trace::MetricType::kSummary, {{{}, "", {{"0.5", "0.000025"}, {"0.9", "NaN"}}, "1.5", "3"}}}};
  const json all = json::parse(MetricsJson(families));
  EXPECT_EQ(all.at(0), (json{{"name", "sent"},
                             {"help", "Sent."},
                             {"type", "counter"},
                             {"metrics", {{{"labels", {{"path", "shm"}}}, {"value", kMost}}}}}));
  const json& summary = all.at(1).at("metrics").at(0);
  EXPECT_EQ(summary.at("quantiles"), (json{{"0.5", 0.000025}, {"0.9", nullptr}}));
  EXPECT_EQ(summary.at("sum"), 1.5);
  EXPECT_EQ(summary.at("count"), 3);
}

TEST(FactsJsonTest, WhatIsNotKnownOfAnActivityIsNull) {
  Activity activity;
  activity.process = 7;
  activity.connections = {{"shm", 2}, {"tcp", 1}};
  activity.bytes_sent = 1.5;
  activity.spins_hit_percent = 0;
  const std::string text = ActivitiesJson({activity});
  EXPECT_EQ(text.find('\n'), text.npos) << "a line for each look";
  const json one = json::parse(text).at(0);
  EXPECT_EQ(one.at("process"), 7);
  EXPECT_EQ(one.at("connections"), (json{{"shm", 2}, {"tcp", 1}}));
  EXPECT_EQ(one.at("bytes_sent_per_second"), 1.5);
  EXPECT_EQ(one.at("spins_hit_percent"), 0);
  EXPECT_TRUE(one.at("coalesced_percent").is_null());
  EXPECT_TRUE(one.at("p99_ns").is_null());
}

TEST(FactsJsonTest, EachOptionOfTheTable) {
  const json all = json::parse(OptionsJson(OptionTable()));
  ASSERT_EQ(all.size(), OptionTable().size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].at("name"), std::string(OptionTable()[i].name));
    EXPECT_EQ(all[i].at("argument"), "skein." + std::string(OptionTable()[i].name));
    EXPECT_EQ(all[i].at("default"), std::string(OptionTable()[i].default_value));
    EXPECT_EQ(all[i].at("variables").size(), OptionTable()[i].name == "mode" ? 2 : 1);
  }
}

TEST(FactsJsonTest, NothingIsAnEmptyArray) {
  for (const std::string& text :
       {ActivitiesJson({}), StagesJson({}), MetricsJson({}), OptionsJson({}), FindingsJson({})}) {
    EXPECT_EQ(text, "[]");
  }
}

}  // namespace
}  // namespace skein
