// What skein top --service makes of the metrics that skeind tells.
#include "tools/skein/service_top.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/service/statistics.h"
#include "core/trace/metrics.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/skein/facts_json.h"

namespace skein {
namespace {

using service::ProcessStatistics;
using service::Traffic;
using testing::HasSubstr;
using testing::Not;

ProcessStatistics Process(pid_t process, const Traffic& traffic) {
  return {.user = 1000,
          .process = process,
          .sessions = 1,
          .queue_pairs = 2,
          .registered_bytes = 4096,
          .under_way = 3,
          .refusals = traffic.requests,
          .traffic = traffic};
}

// As the skein command has it of a process.
ServiceNumbers Told(const service::Statistics& statistics) {
  trace::MetricFamilies families = MetricsOf(statistics);
  trace::Merge(families, QueuePairMetricsOf(statistics.queue_pairs));
  trace::AddLabel(families, "library", "0");
  return ServiceNumbers(families);
}

class ServiceTopTest : public testing::Test {
 protected:
  ServiceTopTest() {
    before_.turns = 1000;
    before_.processes = {Process(1, {100, 1000, 0, 0}), Process(2, {0, 0, 0, 0}), Process(3, {7, 7, 7, 7})};
    before_.peers = {{.host = "10.9.0.1", .trunks = 2, .queue_pairs = 4, .under_way = 5, .waits = 6}};
    before_.queue_pairs = {{.user = 1000, .process = 1, .number = 8, .peer = "10.9.0.1", .under_way = 1, .traffic = {}},
                           {.user = 1000, .process = 1, .number = 9, .peer = "", .under_way = 0, .traffic = {}}};
    now_ = before_;
    now_.turns += 500;
    now_.processes[0].traffic += {20, 200, 2, 20};
    now_.processes[1].traffic += {2, 100'000, 0, 0};
    now_.processes[1].refusals += 4;
    now_.ended = Process(0, {1 << 20, 1 << 20, 0, 0});
    now_.peers[0].waits += 8;
    now_.queue_pairs[1].traffic += {20, 200, 2, 20};
  }
  ServiceActivity Activity(bool of_queue_pairs = false) const {
    return ServiceActivityBetween(getpid(), Told(before_), Told(now_), of_queue_pairs, 2);
  }

  service::Statistics before_;
  service::Statistics now_;
};

TEST_F(ServiceTopTest, TheBusiestProcessIsFirst) {
  const ServiceActivity activity = Activity();
  EXPECT_EQ(activity.turns, 250);
  ASSERT_EQ(activity.clients.size(), 3U) << "those that have ended do nothing";
  EXPECT_EQ(activity.clients[0].client, "2");
  EXPECT_EQ(activity.clients[0].user, "1000");
  EXPECT_EQ(activity.clients[0].requests, 1);
  EXPECT_EQ(activity.clients[0].request_bytes, 50'000);
  EXPECT_EQ(activity.clients[0].refusals, 2);
  EXPECT_EQ(activity.clients[1].client, "1");
  EXPECT_EQ(activity.clients[1].arrivals, 1);
  EXPECT_EQ(activity.clients[1].arrived_bytes, 10);
  EXPECT_EQ(activity.clients[2].client, "3");
  EXPECT_EQ(activity.clients[2].requests, 0);
  EXPECT_EQ(activity.clients[2].registered_bytes, 4096);
  EXPECT_EQ(activity.clients[2].under_way, 3);
}

TEST_F(ServiceTopTest, EachQueuePairHasItsOwnLine) {
  const ServiceActivity activity = Activity(/*of_queue_pairs=*/true);
  ASSERT_EQ(activity.clients.size(), 2U);
  EXPECT_EQ(activity.clients[0].queue_pair, "9");
  EXPECT_EQ(activity.clients[0].requests, 10);
  EXPECT_EQ(activity.clients[1].queue_pair, "8");
  EXPECT_EQ(activity.clients[1].peer, "10.9.0.1");
  EXPECT_EQ(activity.clients[1].under_way, 1);
}

TEST_F(ServiceTopTest, ASkeindThatHasBegunAnewHasNoNegativeRates) {
  std::swap(before_, now_);
  const ServiceActivity activity = Activity();
  EXPECT_EQ(activity.turns, 0);
  for (const ServiceClient& client : activity.clients) EXPECT_EQ(client.request_bytes, 0) << client.client;
}

TEST_F(ServiceTopTest, TablesNameProcessesAndHosts) {
  now_.processes[1].process = before_.processes[1].process = getpid();
  const std::string text = ServiceTables({Activity()}, /*of_queue_pairs=*/false, 0);
  EXPECT_THAT(text, HasSubstr(" 250 turns/s"));
  EXPECT_THAT(text, testing::ContainsRegex("[0-9]+ +tools_test +1000 +2 +4096 +3 +1 +0 +50.0k +0 +2"));
  EXPECT_THAT(text, testing::ContainsRegex("10.9.0.1 +2 +4 +5 +4"));
  const std::string of_pairs = ServiceTables({Activity(true)}, /*of_queue_pairs=*/true, 0);
  EXPECT_THAT(of_pairs, testing::ContainsRegex("8 +1 .*1000 +10.9.0.1 +1 "));
  EXPECT_THAT(of_pairs, Not(HasSubstr("REGISTERED")));
}

TEST_F(ServiceTopTest, JsonHasAllOfIt) {
  const auto all = nlohmann::json::parse(ServiceActivitiesJson({Activity(), Activity(true)}));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["process"], getpid());
  EXPECT_EQ(all[0]["clients"][0]["client"], "2");
  EXPECT_EQ(all[0]["clients"][0]["request_bytes_per_second"], 50'000);
  EXPECT_TRUE(all[0]["clients"][0]["queue_pair"].is_null());
  EXPECT_EQ(all[0]["peers"][0]["waits_per_second"], 4);
  EXPECT_EQ(all[1]["clients"][0]["queue_pair"], "9");
  EXPECT_TRUE(all[1]["clients"][0]["peer"].is_null());
}

}  // namespace
}  // namespace skein
