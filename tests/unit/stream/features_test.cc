// What an adapter may do on a stream: what both ends have offered, and nothing else.
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include "core/stream/connector.h"
#include "core/wire/negotiation.h"
#include "gtest/gtest.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::stream {
namespace {

class FeaturesTest : public testing::TestWithParam<FabricKindUnderTest> {
 protected:
  struct Outcomes {
    Outcome client;
    Outcome server;
  };
  Outcomes Negotiate(uint8_t client, uint8_t server) {
    auto attempt = ends_.connector->Begin({}, client).value();
    Listener::Result result = ends_.listener->Accept(attempt->offer(), {}, server);
    Outcome outcome = attempt->Complete(result.answer);
    ends_.Pump();
    return {std::move(outcome), std::move(result.outcome)};
  }
  // The connecting end's, when the answer names these.
  Outcome AnsweredWith(uint8_t named, uint8_t offered) {
    auto attempt = ends_.connector->Begin({}, offered).value();
    const Listener::Result result = ends_.listener->Accept(attempt->offer(), {}, offered);
    wire::Answer answer = wire::DecodeAnswer(result.answer).value();
    std::get<wire::Yes>(answer).features = named;
    Outcome outcome = attempt->Complete(wire::EncodeAnswer(answer));
    ends_.Pump();
    return outcome;
  }

  TwoEnds ends_{GetParam()};
};

TEST_P(FeaturesTest, BothEndsHaveWhatBothHaveOffered) {
  for (int client = 0; client < 8; ++client) {
    for (int server = 0; server < 8; ++server) {
      const Outcomes outcomes = Negotiate(static_cast<uint8_t>(client), static_cast<uint8_t>(server));
      ASSERT_NE(outcomes.client.stream, nullptr) << ToString(outcomes.client.why);
      ASSERT_NE(outcomes.server.stream, nullptr) << ToString(outcomes.server.why);
      EXPECT_EQ(outcomes.client.features, client & server) << client << " asked " << server;
      EXPECT_EQ(outcomes.server.features, client & server) << client << " asked " << server;
    }
  }
}

TEST_P(FeaturesTest, EveryBitIsAFeature) {
  const Outcomes outcomes = Negotiate(0xFF, 0xA5);
  EXPECT_EQ(outcomes.client.features, 0xA5);
  EXPECT_EQ(outcomes.server.features, 0xA5);
}

// Streams share a link, yet each has been negotiated by itself.
TEST_P(FeaturesTest, StreamsOfOneLinkHaveTheirOwn) {
  const Outcomes with = Negotiate(3, 1);
  const Outcomes without = Negotiate(3, 0);
  const Outcomes other = Negotiate(3, 2);
  EXPECT_EQ(with.client.features, 1);
  EXPECT_EQ(without.client.features, 0);
  EXPECT_EQ(other.client.features, 2);
  EXPECT_EQ(other.server.features, 2);
}

// An end without any says nothing that an earlier version would not understand.
TEST_P(FeaturesTest, AnEndWithoutFeaturesSpeaksTheFirstVersion) {
  const auto plain = ends_.connector->Begin({}).value();
  EXPECT_EQ(wire::DecodeOffer(plain->offer()).value().highest_version, wire::kProtocolVersion);
  const auto attempt = ends_.connector->Begin({}, 1).value();
  EXPECT_EQ(wire::DecodeOffer(attempt->offer()).value().highest_version, wire::kVersionWithFeatures);
  const Listener::Result result = ends_.listener->Accept(attempt->offer(), {});
  EXPECT_EQ(result.answer[0], wire::kProtocolVersion);
  EXPECT_EQ(attempt->Complete(result.answer).features, 0);
}

TEST_P(FeaturesTest, AnAnswerMayNameFewerThanWereOffered) {
  const Outcome outcome = AnsweredWith(2, 7);
  ASSERT_NE(outcome.stream, nullptr) << ToString(outcome.why);
  EXPECT_EQ(outcome.features, 2);
}

TEST_P(FeaturesTest, AFeatureThatWasNotOfferedIsAProtocolError) {
  for (const uint8_t offered : {0, 1, 0x7F}) {
    const Outcome outcome = AnsweredWith(offered | 0x80, offered);
    EXPECT_EQ(outcome.stream, nullptr);
    EXPECT_EQ(outcome.why.code, FallbackCode::kProtocol) << ToString(outcome.why);
    EXPECT_EQ(outcome.features, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, FeaturesTest, testing::ValuesIn(FabricsUnderTest()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace skein::stream
