// Offers and answers go through processes: any of them may come late, twice, or forged.
#include <string>
#include <thread>

#include "core/service/offer.h"
#include "tests/unit/service/two_hosts.h"

namespace skein::service {
namespace {

using ::testing::HasSubstr;

class Accepting : public TwoHosts {
 protected:
  Process a_{one_};
  Process b_{other_};
};

TEST_F(Accepting, AnOfferIsGoodForOneAccept) {
  const auto offers = NewPair(a_);
  const auto accepts = NewPair(b_);
  const auto late = NewPair(b_);
  const std::string offer = offers->Offer().value();
  const std::string answer = accepts->Accept(offer).value();
  const absl::Status again = late->Accept(offer).status();
  EXPECT_THAT(again.message(), HasSubstr("an offer that nobody has out"));
  EXPECT_EQ(late->RefreshState(), fabric::QueuePairState::kError);
  EXPECT_EQ(offers->Complete(answer), absl::OkStatus());
  EXPECT_FALSE(accepts->Accept(offer).ok()) << "it is connected";
}

TEST_F(Accepting, AForgedOfferOpensNothing) {
  const auto offers = NewPair(a_);
  const Offer honest = DecodeOffer(offers->Offer().value()).value();
  for (int spoilt = 0; spoilt < 3; ++spoilt) {
    Offer forged = honest;
    if (spoilt == 0) forged.token ^= 1;
    if (spoilt == 1) ++forged.number;
    if (spoilt == 2) forged.number |= 1u << 30;
    const auto accepts = NewPair(b_);
    EXPECT_THAT(accepts->Accept(EncodeOffer(forged)).status().message(), HasSubstr("an offer that nobody has out"));
  }
  const auto accepts = NewPair(b_);
  const absl::StatusOr<std::string> answer = accepts->Accept(EncodeOffer(honest));
  ASSERT_EQ(answer.status(), absl::OkStatus());
  EXPECT_EQ(offers->Complete(*answer), absl::OkStatus());
}

TEST_F(Accepting, AnOfferOfAQueuePairThatHasGone) {
  auto offers = NewPair(a_);
  const std::string offer = offers->Offer().value();
  offers = nullptr;
  const auto accepts = NewPair(b_);
  EXPECT_THAT(accepts->Accept(offer).status().message(), HasSubstr("an offer that nobody has out"));
}

// To make a queue pair takes the kernel and the device milliseconds.
TEST_F(Accepting, AHostsFirstConnectionHoldsUpNobody) {
  Couple couple(one_, other_);
  const auto offers = NewPair(b_);
  const auto accepts = NewPair(a_);
  const std::string offer = offers->Offer().value();
  device_one_->holds_queue_pairs = true;  // this host connects for the first time
  absl::StatusOr<std::string> answer;
  std::thread process([&] { answer = accepts->Accept(offer); });
  EXPECT_TRUE(Eventually([&] { return device_one_->held == 1; }));
  couple.ExpectWorks();
  device_one_->holds_queue_pairs = false;
  process.join();
  // Later than a second, the process has ceased to wait.
  EXPECT_TRUE(answer.ok() || absl::IsUnavailable(answer.status())) << answer.status();
  EXPECT_TRUE(Eventually([&] { return Connect(*NewPair(b_), *NewPair(a_)).ok(); }));
}

TEST_F(Accepting, AHostWhoseDeviceMakesNoQueuePairSaysSo) {
  const auto offers = NewPair(b_);
  const auto accepts = NewPair(a_);
  device_one_->makes_queue_pairs = false;
  EXPECT_THAT(accepts->Accept(offers->Offer().value()).status().message(), HasSubstr("no more queue pairs"));
  device_one_->makes_queue_pairs = true;
  EXPECT_EQ(Connect(*NewPair(b_), *NewPair(a_)), absl::OkStatus());
}

TEST_F(Accepting, AnOfferToNowhere) {
  const Offer nowhere = {1, 2, 1, "127.0.0.1"};  // nobody listens on port 1
  const auto accepts = NewPair(b_);
  EXPECT_EQ(accepts->Accept(EncodeOffer(nowhere)).status().code(), absl::StatusCode::kUnavailable);
  const auto named = NewPair(b_);
  EXPECT_FALSE(named->Accept(EncodeOffer({1, 2, 1, "localhost"})).ok()) << "a look-up would take its time";
}

TEST_F(Accepting, AStaleOrForgedAnswerCompletesNothing) {
  const auto offers = NewPair(a_);
  const auto others_offers = NewPair(a_);
  const auto accepts = NewPair(b_);
  const auto others_accepts = NewPair(b_);
  const std::string answer = accepts->Accept(offers->Offer().value()).value();
  const std::string others = others_accepts->Accept(others_offers->Offer().value()).value();
  EXPECT_THAT(offers->Complete(others).message(), HasSubstr("an answer to another offer"));
  Offer forged = DecodeOffer(answer).value();
  forged.token ^= 1;
  EXPECT_FALSE(offers->Complete(EncodeOffer(forged)).ok());
  EXPECT_FALSE(offers->Complete("").ok());
  EXPECT_NE(offers->state(), fabric::QueuePairState::kReady);
  EXPECT_EQ(offers->Complete(answer), absl::OkStatus());
  EXPECT_EQ(offers->state(), fabric::QueuePairState::kReady);
}

TEST_F(Accepting, AnAnswerWithoutAnOffer) {
  const auto fresh = NewPair(a_);
  EXPECT_FALSE(fresh->Complete(EncodeOffer({1, 0, 0, ""})).ok());
  EXPECT_FALSE(fresh->Complete(EncodeOffer({0, 0, 0, ""})).ok());
}

TEST_F(Accepting, AQueuePairMakesOneOffer) {
  const auto pair = NewPair(a_);
  ASSERT_TRUE(pair->Offer().ok());
  EXPECT_FALSE(pair->Offer().ok());
  const auto other = NewPair(b_);
  EXPECT_FALSE(pair->Accept(other->Offer().value()).ok());
}

// Two processes of one host.
TEST_F(Accepting, OfTheSameSkeind) { Couple(one_, one_).ExpectWorks(); }

}  // namespace
}  // namespace skein::service
