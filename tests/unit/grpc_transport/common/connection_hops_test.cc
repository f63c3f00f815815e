// What the two ends of a connection know of each other for the tracing of its calls.
#include "grpc_transport/common/connection_hops.h"

#include "grpc_transport/common/negotiation.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

struct Hops final : ConnectionHops {
  using ConnectionHops::ConnectionHops;
};

constexpr uint64_t kSecond = 1'000'000'000;
constexpr link::Arrival kTraced = {.posted = 3, .arrived = 9};
constexpr link::Arrival kUntraced = {.posted = 4, .arrived = 9};

TEST(ConnectionHopsTest, KnowsWhetherThePeerTraces) {
  Hops hops(trace::Path::kShm);
  EXPECT_FALSE(hops.peer_traces());
  hops.Came(kTraced, 5 * kSecond);
  EXPECT_TRUE(hops.peer_traces());
  EXPECT_EQ(hops.arrival().arrived, 9u);
  hops.Came(kUntraced, 6 * kSecond);
  EXPECT_TRUE(hops.peer_traces()) << "a call that had asked may come yet";
  hops.Came(kUntraced, 66 * kSecond);
  EXPECT_FALSE(hops.peer_traces());
  hops.Came(kUntraced, 67 * kSecond);
  EXPECT_FALSE(hops.peer_traces());
}

TEST(ConnectionHopsTest, AServerIsAskedThatHasAgreedToIt) {
  EXPECT_TRUE(Hops(trace::Path::kShm, kAskedTimesFeature).may_ask());
  EXPECT_FALSE(Hops(trace::Path::kShm, kUnaskedTimesFeature | kCallsFeature).may_ask());
  EXPECT_FALSE(Hops(trace::Path::kTcp).may_ask()) << "it may be any server";
}

TEST(ConnectionHopsTest, TimesAreWantedUnaskedOnceAllCallsAreFromAfterTheBeginningOfTracing) {
  Hops hops(trace::Path::kShm, kUnaskedTimesFeature);
  EXPECT_FALSE(hops.wanted_unasked(kSecond));
  hops.Came(kTraced, kSecond);
  EXPECT_FALSE(hops.wanted_unasked(kSecond)) << "of calls that the client has begun before, it takes out nothing";
  hops.Came(kTraced, kSecond + ConnectionHops::kUnaskedAfterNs);
  EXPECT_TRUE(hops.wanted_unasked(kSecond + ConnectionHops::kUnaskedAfterNs));
  hops.Came(kUntraced, 3 * kSecond);
  EXPECT_FALSE(hops.wanted_unasked(3 * kSecond)) << "the client traces no more";
  hops.Came(kTraced, 4 * kSecond);
  EXPECT_FALSE(hops.wanted_unasked(4 * kSecond)) << "it begins anew";
}

TEST(ConnectionHopsTest, NobodyWhoHasNotAgreedIsToldUnasked) {
  for (const uint8_t features : {uint8_t{0}, kCallsFeature, kAskedTimesFeature}) {
    Hops hops(trace::Path::kShm, features);
    hops.Came(kTraced, kSecond);
    EXPECT_FALSE(hops.wanted_unasked(9 * kSecond));
  }
}

TEST(ConnectionHopsTest, ThePeersClockIsKnownByItsSamples) {
  Hops hops(trace::Path::kRdma);
  EXPECT_FALSE(hops.PeerClock().has_value());
  const uint64_t now = trace::Now();
  hops.AddSample({now, now + 1'000'000, now + 1'000'100, now + 500});
  ASSERT_TRUE(hops.PeerClock().has_value());
  EXPECT_NEAR(static_cast<double>(hops.PeerClock()->offset_ns), 999'800, 1);
  EXPECT_GE(hops.PeerClock()->error_ns, 200);
}

}  // namespace
}  // namespace skein::grpc_transport
