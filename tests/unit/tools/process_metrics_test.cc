// What is scraped of processes that answer as they like.
#include "tools/skein/process_metrics.h"

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/idle_process.h"
#include "tests/unit/inspect/answering.h"

namespace skein {
namespace {

using inspect::Answering;

// The gauge skein_up, by the process's number.
std::map<std::string, double> Up(const std::vector<prometheus::MetricFamily>& families) {
  std::map<std::string, double> up;
  for (const prometheus::MetricFamily& family : families) {
    if (family.name != "skein_up") continue;
    for (const prometheus::ClientMetric& metric : family.metric) up[metric.label[0].value] = metric.gauge.value;
  }
  return up;
}

// Prometheus waits for ten seconds. More are late than are asked at once, and they drip for ever.
TEST(ProcessMetricsTest, ThoseThatAreLateAreDownAndTheOthersServed) {
  const IdleProcess honest;
  const Answering answering(honest.pid(), 0, inspect::Ok(""));
  ASSERT_TRUE(answering.ok());
  std::list<IdleProcess> late(20);
  std::list<Answering> dripping;
  std::map<std::string, double> expected = {{std::to_string(honest.pid()), 1}};
  std::vector<pid_t> processes = {honest.pid()};
  for (const IdleProcess& process : late) {
    dripping.emplace_back(process.pid(), 0, [](int fd) {
      while (inspect::Say(fd, "s")) absl::SleepFor(absl::Milliseconds(100));
    });
    ASSERT_TRUE(dripping.back().ok());
    processes.push_back(process.pid());
    expected[std::to_string(process.pid())] = 0;
  }
  const absl::StatusOr<WatchedProcesses> watched = WatchedProcesses::Open(processes);
  ASSERT_TRUE(watched.ok()) << watched.status();
  EXPECT_EQ(Up(ProcessMetrics(&*watched).Collect()), expected);
}

}  // namespace
}  // namespace skein
