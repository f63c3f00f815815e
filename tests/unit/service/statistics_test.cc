// What skeind counts, and how other threads and the skein command get it.
#include "core/service/statistics.h"

#include <algorithm>
#include <string>

#include "core/inspect/tracing.h"
#include "core/trace/metrics.h"
#include "core/trace/service_metrics.h"
#include "tests/unit/service/two_hosts.h"

namespace skein::service {
namespace {

constexpr absl::Duration kSoon = absl::Seconds(20);

Statistics Of(const SkeindHost& host) { return host.mailbox()->Ask(kSoon).value(); }

const trace::MetricFamily& Family(const trace::MetricFamilies& families, trace::ServiceMetric metric) {
  const auto found = std::find_if(families.begin(), families.end(), [metric](const trace::MetricFamily& each) {
    return each.name == trace::SpecOf(metric).name;
  });
  EXPECT_NE(found, families.end());
  return *found;
}

class StatisticsOfTwoHosts : public TwoHosts {};

TEST_F(StatisticsOfTwoHosts, WhatAProcessSendsAndWhatArrivesIsCountedAtBothEnds) {
  Couple couple(one_, other_);
  for (int i = 0; i < 5; ++i) couple.ExpectWorks();  // each a WRITE with an immediate and a READ, of 8 bytes
  const Statistics here = Of(one_);
  ASSERT_EQ(here.processes.size(), 1U);
  EXPECT_EQ(here.processes[0].user, getuid());
  EXPECT_EQ(here.processes[0].process, getpid());
  EXPECT_EQ(here.processes[0].sessions, 1U);
  EXPECT_EQ(here.processes[0].queue_pairs, 1U);
  EXPECT_EQ(here.processes[0].registered_bytes, 4096U);
  EXPECT_EQ(here.processes[0].traffic.requests, 10U);
  EXPECT_EQ(here.processes[0].traffic.request_bytes, 80U);
  EXPECT_EQ(here.processes[0].traffic.arrivals, 0U);
  EXPECT_EQ(here.processes[0].refusals, 0U);
  const Statistics there = Of(other_);
  ASSERT_EQ(there.processes.size(), 1U);
  EXPECT_EQ(there.processes[0].traffic.requests, 0U);
  EXPECT_EQ(there.processes[0].traffic.arrivals, 5U);
  EXPECT_EQ(there.processes[0].traffic.arrived_bytes, 40U);
  EXPECT_GT(there.turns, 0U);
}

TEST_F(StatisticsOfTwoHosts, EachQueuePairAndEachPeerIsThere) {
  Couple first(one_, other_);
  Couple second(one_, other_);
  first.ExpectWorks();
  const Statistics here = Of(one_);
  ASSERT_EQ(here.queue_pairs.size(), 2U);
  EXPECT_EQ(here.queue_pairs[0].traffic.requests + here.queue_pairs[1].traffic.requests, 2U);
  EXPECT_EQ(here.queue_pairs[0].peer, "127.0.0.1");
  ASSERT_EQ(here.peers.size(), 1U);
  EXPECT_EQ(here.peers[0].host, "127.0.0.1");
  EXPECT_EQ(here.peers[0].trunks, 1U);
  EXPECT_EQ(here.peers[0].queue_pairs, 2U);
  ASSERT_EQ(here.processes.size(), 1U) << "two sessions of one process";
  EXPECT_EQ(here.processes[0].sessions, 2U);
}

TEST_F(StatisticsOfTwoHosts, WhatIsUnderWayIsWhoseItIs) {
  Couple busy(one_, other_);
  Couple idle(one_, other_);
  busy.ExpectWorks();
  HoldTime(true);
  for (uint64_t id = 0; id < 3; ++id) {
    const fabric::SendRequest write = busy.a.Write(busy.b.memory->remote(), id);
    ASSERT_EQ(busy.to_b->PostSend({&write, 1}), absl::OkStatus());
  }
  Settle();
  const Statistics here = Of(one_);
  ASSERT_EQ(here.queue_pairs.size(), 2U);
  uint64_t most = 0;
  for (const QueuePairStatistics& each : here.queue_pairs) most = std::max(most, each.under_way);
  EXPECT_EQ(most, 3U);
  EXPECT_EQ(here.processes.at(0).under_way, 3U);
  EXPECT_GE(here.peers.at(0).under_way, 3U) << "and a question of the trunk's own";
  HoldTime(false);
  EXPECT_TRUE(Eventually([&] { return Of(one_).processes.at(0).under_way == 0; }));
}

TEST_F(StatisticsOfTwoHosts, ProcessesThatHaveLeftStayInTheSum) {
  {
    Couple couple(one_, other_);
    couple.ExpectWorks();
    couple.to_b = nullptr;
    EXPECT_EQ(Of(one_).processes.at(0).traffic.requests, 2U) << "its queue pair is no more";
    EXPECT_EQ(Of(one_).processes.at(0).queue_pairs, 0U);
  }
  EXPECT_TRUE(Eventually([&] { return Of(one_).processes.empty() && Of(other_).processes.empty(); }));
  EXPECT_EQ(Of(one_).ended.traffic.requests, 2U);
  EXPECT_EQ(Of(other_).ended.traffic.arrivals, 1U);
  EXPECT_TRUE(Of(one_).queue_pairs.empty());
}

TEST_F(StatisticsOfTwoHosts, RefusalsAreCounted) {
  RawProcess process(one_.folder());
  Process other(other_);
  const auto pair = NewPair(other);
  ASSERT_EQ(Connect(process, *pair), absl::OkStatus());
  EXPECT_FALSE(process.session.Ask(RawSession::Operation::kOffer, 77).ok());
  EXPECT_EQ(Of(one_).processes.at(0).refusals, 1U);
  auto write = process.Write(other.memory->remote());
  write.lkey = 4711;
  process.Lay(write);
  process.Publish();
  EXPECT_TRUE(Eventually([&] { return process.end() == fabric::service::End::kRequest; }));
  EXPECT_EQ(Of(one_).processes.at(0).refusals, 2U);
}

class StatisticsWithinLimits : public TwoHosts {
 protected:
  StatisticsWithinLimits() : TwoHosts({.sessions = 1}) {}
};

TEST_F(StatisticsWithinLimits, RefusedSessionsAreCounted) {
  const RawSession first(one_.folder());
  ASSERT_EQ(first.Hello(), absl::OkStatus());
  const RawSession second(one_.folder());
  const auto refusal = second.Receive();
  ASSERT_EQ(refusal.status(), absl::OkStatus());
  EXPECT_EQ(refusal->code, static_cast<uint32_t>(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(second.Receive().status().message(), "skeind has ended the session");
  EXPECT_EQ(Of(one_).sessions_refused, 1U);
}

TEST(StatisticsMailboxTest, SaysThatTheThreadHangsOrHasEnded) {
  const auto mailbox = StatisticsMailbox::Create().value();
  EXPECT_EQ(mailbox->Ask(absl::Milliseconds(20)).status().code(), absl::StatusCode::kDeadlineExceeded);
  std::thread asks([&] { EXPECT_EQ(mailbox->Ask(kSoon).status().code(), absl::StatusCode::kUnavailable); });
  mailbox->Close();
  asks.join();
}

TEST(StatisticsMailboxTest, WhoeverAsksGetsWhatIsCountedAfterwards) {
  const auto mailbox = StatisticsMailbox::Create().value();
  EXPECT_FALSE(mailbox->Ask(absl::ZeroDuration()).ok());
  Statistics counted;
  counted.turns = 1;
  mailbox->Answer([&] { return counted; });  // which nobody waits for any more
  std::thread asks([&] { EXPECT_EQ(mailbox->Ask(kSoon)->turns, 2U); });
  counted.turns = 2;
  EXPECT_TRUE(Eventually([&] {
    pollfd wait = {mailbox->fd(), POLLIN, 0};
    return poll(&wait, 1, 0) == 1;
  }));
  mailbox->Answer([&] { return counted; });
  asks.join();
}

TEST(StatisticsMetrics, AreSkeinsAndBounded) {
  Statistics statistics;
  for (pid_t process = 0; process < 3000; ++process) {
    ProcessStatistics& each = statistics.processes.emplace_back();
    each.user = 1000;
    each.process = process;
    each.sessions = 1;
    each.traffic.requests = static_cast<uint64_t>(process);
  }
  for (int i = 0; i < 5000; ++i) statistics.peers.push_back({absl::StrCat("10.0.0.", i), 1, 2, 3, 4});
  const trace::MetricFamilies families = MetricsOf(statistics);
  EXPECT_EQ(trace::CheckMetrics(families), absl::OkStatus());
  const trace::MetricFamily& requests = Family(families, trace::ServiceMetric::kRequests);
  ASSERT_EQ(requests.metrics.size(), kMostProcessesTold + 2);
  EXPECT_EQ(requests.metrics[0].labels[1].second, "2999") << "the busiest first";
  EXPECT_EQ(requests.metrics[0].value, "2999");
  EXPECT_EQ(requests.metrics[kMostProcessesTold].labels[1].second, "others");
  EXPECT_EQ(requests.metrics[kMostProcessesTold].value, absl::StrCat(1999 * 2000 / 2));
  EXPECT_EQ(Family(families, trace::ServiceMetric::kTrunks).metrics.size(), kMostPeersTold);

  std::vector<QueuePairStatistics> pairs(9000);
  for (uint32_t i = 0; i < pairs.size(); ++i) pairs[i].number = i;
  const trace::MetricFamilies of_pairs = QueuePairMetricsOf(pairs);
  EXPECT_EQ(trace::CheckMetrics(of_pairs), absl::OkStatus());
  EXPECT_EQ(Family(of_pairs, trace::ServiceMetric::kPairRequests).metrics.size(), kMostQueuePairsTold);
}

TEST_F(StatisticsOfTwoHosts, TheSkeinCommandMayAsk) {
  Couple couple(one_, other_);
  couple.ExpectWorks();
  HandleStatistics(one_.mailbox());
  const auto metrics = inspect::AskMetrics(getpid());
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  const trace::MetricFamily& requests = Family(*metrics, trace::ServiceMetric::kRequests);
  ASSERT_EQ(requests.metrics.size(), 2U) << "the process, and those that have ended";
  EXPECT_EQ(requests.metrics[0].value, "2");
  const auto pairs = inspect::AskQueuePairMetrics(getpid());
  ASSERT_TRUE(pairs.ok()) << pairs.status();
  EXPECT_EQ(Family(*pairs, trace::ServiceMetric::kPairRequests).metrics.at(0).value, "2");
}

}  // namespace
}  // namespace skein::service
