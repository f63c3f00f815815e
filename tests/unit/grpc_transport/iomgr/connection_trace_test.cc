// Which write a call's bytes went by, as the filters and the endpoint tell each other.
#include "grpc_transport/iomgr/connection_trace.h"

#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

TEST(ConnectionTraceTest, TheNextWriteCountsForAllThatWait) {
  ConnectionTrace trace(trace::Path::kShm);
  EXPECT_FALSE(trace.Writing());
  SentTimes one, other;
  trace.Awaits(&one);
  trace.Awaits(&other);
  EXPECT_TRUE(trace.Writing());
  EXPECT_NE(one.queued, 0u);
  EXPECT_EQ(one.queued, other.queued);
  SentTimes late;
  trace.Awaits(&late);
  trace.Wrote({.led = 5, .posted = 7, .degree = 2});
  EXPECT_EQ(one.departure.led, 5u);
  EXPECT_EQ(other.departure.posted, 7u);
  EXPECT_EQ(other.departure.degree, 2u);
  EXPECT_EQ(late.queued, 0u) << "it waits for the next";
  EXPECT_EQ(late.departure.posted, 0u);
  EXPECT_TRUE(trace.Writing());
  EXPECT_FALSE(trace.Writing());
}

TEST(ConnectionTraceTest, ACallThatHasEndedIsLeftAlone) {
  ConnectionTrace trace(trace::Path::kTcp);
  SentTimes waits, goes;
  trace.Awaits(&goes);
  trace.Writing();
  trace.Awaits(&waits);
  trace.Forget(&goes);
  trace.Forget(&waits);
  trace.Wrote({.led = 5, .posted = 7, .degree = 2});
  trace.Writing();
  EXPECT_EQ(goes.departure.posted, 0u);
  EXPECT_EQ(waits.queued, 0u);
}

TEST(ConnectionTraceTest, KnowsWhetherThePeerTraces) {
  ConnectionTrace trace(trace::Path::kShm);
  EXPECT_FALSE(trace.peer_traces());
  constexpr uint64_t kSecond = 1'000'000'000;
  trace.Came({.posted = 3, .arrived = 9}, 5 * kSecond);
  EXPECT_TRUE(trace.peer_traces());
  EXPECT_EQ(trace.arrival().arrived, 9u);
  trace.Came({.posted = 4, .arrived = 9}, 6 * kSecond);
  EXPECT_TRUE(trace.peer_traces()) << "a call that had asked may come yet";
  trace.Came({.posted = 4, .arrived = 9}, 66 * kSecond);
  EXPECT_FALSE(trace.peer_traces());
  trace.Came({.posted = 4, .arrived = 9}, 67 * kSecond);
  EXPECT_FALSE(trace.peer_traces());
}

TEST(ConnectionTraceTest, OverTcpThePeersGrpcIsAnyGrpc) {
  EXPECT_TRUE(ConnectionTrace(trace::Path::kShm).peer_has_filters());
  EXPECT_TRUE(ConnectionTrace(trace::Path::kRdma).peer_has_filters());
  EXPECT_FALSE(ConnectionTrace(trace::Path::kTcp).peer_has_filters());
}

TEST(ConnectionTraceTest, ThePeersClockIsKnownByItsSamples) {
  ConnectionTrace trace(trace::Path::kRdma);
  EXPECT_FALSE(trace.PeerClock().has_value());
  const uint64_t now = trace::Now();
  trace.AddSample({now, now + 1'000'000, now + 1'000'100, now + 500});
  ASSERT_TRUE(trace.PeerClock().has_value());
  EXPECT_NEAR(static_cast<double>(trace.PeerClock()->offset_ns), 999'800, 1);
  EXPECT_GE(trace.PeerClock()->error_ns, 200);
}

}  // namespace
}  // namespace skein::grpc_transport
