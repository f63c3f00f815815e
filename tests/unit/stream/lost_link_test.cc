// A link that one end has lost and the other knows nothing of, as with RDMA while there is nothing to say.
#include "core/wire/negotiation.h"
#include "gtest/gtest.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::stream {
namespace {

wire::Offer OfferOf(const Connector::Attempt& attempt) { return wire::DecodeOffer(attempt.offer()).value(); }

TEST(LostLinkTest, WhoIsToldToUseItAsksForANewOne) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  wire::Yes yes;
  yes.link = 77;  // never heard of
  yes.stream = 1;
  {
    const auto attempt = ends.connector->Begin({}).value();
    EXPECT_FALSE(OfferOf(*attempt).new_link_only);
    const Outcome outcome = attempt->Complete(wire::EncodeAnswer(yes));
    EXPECT_EQ(outcome.stream, nullptr);
    EXPECT_EQ(outcome.why.detail, "the link to the peer was lost meanwhile");
  }
  const auto again = ends.connector->Begin({}).value();
  EXPECT_TRUE(OfferOf(*again).new_link_only);
  EXPECT_NE(ends.Connect().client, nullptr);
  EXPECT_FALSE(OfferOf(*ends.connector->Begin({}).value()).new_link_only);
}

TEST(LostLinkTest, WhoIsAskedForANewOneNamesNoOlderAgain) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  const TwoEnds::Pair first = ends.Connect();
  ASSERT_NE(first.client, nullptr);
  const auto answer_to = [&](bool new_link_only) {
    const auto attempt = ends.connector->Begin({}).value();
    wire::Offer offer = OfferOf(*attempt);
    offer.new_link_only = new_link_only;
    Listener::Result result = ends.listener->Accept(wire::EncodeOffer(offer), {});
    EXPECT_NE(attempt->Complete(result.answer).stream, nullptr);
    ends.Pump();
    return std::get<wire::Yes>(wire::DecodeAnswer(result.answer).value());
  };
  EXPECT_EQ(answer_to(false).link, 1u);
  const wire::Yes second = answer_to(true);
  EXPECT_TRUE(second.is_new);
  const TwoEnds::Pair keeps_it = ends.Connect();
  ASSERT_NE(keeps_it.client, nullptr);
  const wire::Yes third = answer_to(false);
  EXPECT_FALSE(third.is_new);
  EXPECT_NE(third.link, 1u);
}

}  // namespace
}  // namespace skein::stream
