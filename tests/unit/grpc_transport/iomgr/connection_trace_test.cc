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

}  // namespace
}  // namespace skein::grpc_transport
