// How the two ends of a channel find each other.
#include "core/base/fallback.h"
#include "tests/conformance/channel_conformance.h"

namespace skein::channel {
namespace {

class ChannelConnecting : public ChannelConformance {};

TEST_P(ChannelConnecting, NobodySendsBeforeItHasMetItsPeer) {
  const auto active = NewEnd();
  const auto passive = NewEnd();
  EXPECT_FALSE(active->channel->met());
  EXPECT_EQ(active->channel->Space(Use::kControl), 0u);
  EXPECT_EQ(active->channel->LargestItem(), 0u);
  EXPECT_FALSE(active->channel->Readable());
  EXPECT_TRUE(active->channel->connected());
  const Channel::Answer answer = passive->channel->Accept(active->channel->Offer().value()).value();
  EXPECT_FALSE(passive->channel->met()) << "before the greeting";
  EXPECT_EQ(passive->channel->Space(Use::kControl), 0u);
  ASSERT_TRUE(active->channel->Complete(answer).ok());
  EXPECT_TRUE(active->channel->met());
  EXPECT_GT(active->channel->LargestItem(), 0u);
  ASSERT_TRUE(active->SendGreeting().ok());
  EXPECT_TRUE(Eventually([&] {
    active->Poll();
    passive->Poll();
    return passive->channel->met();
  }));
}

TEST_P(ChannelConnecting, AnOfferIsGoodForOneAccept) {
  const auto active = NewEnd();
  const std::string offer = active->channel->Offer().value();
  EXPECT_FALSE(active->channel->Offer().ok());
  const auto first = NewEnd();
  const auto second = NewEnd();
  const Channel::Answer answer = first->channel->Accept(offer).value();
  second->channel->Accept(offer).IgnoreError();  // nothing answers it
  ASSERT_TRUE(active->channel->Complete(answer).ok());
  ASSERT_TRUE(active->SendGreeting().ok());
  EXPECT_TRUE(Eventually([&] {
    active->Poll();
    first->Poll();
    second->Poll();
    return first->channel->met();
  }));
  EXPECT_FALSE(second->channel->met());
}

TEST_P(ChannelConnecting, AMalformedOfferIsRefusedWithAReason) {
  const std::string offer = NewEnd()->channel->Offer().value();
  const auto passive = NewEnd();
  for (size_t size = 0; size < offer.size(); ++size) {
    const absl::Status status = passive->channel->Accept(offer.substr(0, size)).status();
    ASSERT_FALSE(status.ok()) << size;
    EXPECT_NE(FallbackOf(status).code, FallbackCode::kNone);
  }
  EXPECT_FALSE(passive->channel->Accept(offer + "more").ok());
}

TEST_P(ChannelConnecting, AnAnswerTakesAnOffer) {
  const auto active = NewEnd();
  EXPECT_FALSE(active->channel->Complete({}).ok());
  const std::string offer = active->channel->Offer().value();
  EXPECT_FALSE(active->channel->Complete({"no answer", {}}).ok());
}

TEST_P(ChannelConnecting, AGreetingThatNoPeerSendsIsRefused) {
  const auto active = NewEnd();
  const auto passive = NewEnd();
  const Channel::Answer answer = passive->channel->Accept(active->channel->Offer().value()).value();
  ASSERT_TRUE(active->channel->Complete(answer).ok());
  EXPECT_TRUE(absl::IsDataLoss(passive->channel->OnGreeting("a greeting of no kind")));
  EXPECT_FALSE(passive->channel->met());
}

TEST_P(ChannelConnecting, WhoHasClosedMakesNoOffer) {
  const auto active = NewEnd();
  active->channel->Close();
  EXPECT_TRUE(active->channel->Ended());
  EXPECT_FALSE(active->channel->connected());
  EXPECT_FALSE(active->channel->Offer().ok());
}

INSTANTIATE_TEST_SUITE_P(All, ChannelConnecting, EveryTransport(), TransportName);

}  // namespace
}  // namespace skein::channel
