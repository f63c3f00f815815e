// What is offered of a meeting, from a peer.
#include "core/channel/shm/offer.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/fallback.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/exact_bytes.h"

namespace skein::channel::shm {
namespace {

Offer SampleOffer() {
  Offer offer;
  for (size_t i = 0; i < offer.meeting_point.size(); ++i) offer.meeting_point[i] = static_cast<char>(0xf0 + i);
  offer.token.fill('t');
  return offer;
}

absl::Status Refusal(absl::string_view bytes) { return DecodeOffer(ExactBytes(bytes).text()).status(); }

TEST(ShmOfferTest, ComesBackAsItWas) {
  const std::string bytes = EncodeOffer(SampleOffer());
  EXPECT_EQ(bytes.size(), 33U) << "it comes before a connection's first bytes";
  const absl::StatusOr<Offer> back = DecodeOffer(ExactBytes(bytes).text());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->meeting_point, SampleOffer().meeting_point);
  EXPECT_EQ(back->token, SampleOffer().token);
}

TEST(ShmOfferTest, AMeetingPointIsTheNameOfASocket) {
  EXPECT_EQ(SocketName(SampleOffer().meeting_point), "skein-f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
  EXPECT_EQ(SocketName({}), "skein-00000000000000000000000000000000");
}

TEST(ShmOfferTest, AnotherVersionIsNamedWhateverItsForm) {
  for (const std::string& bytes : {"\2" + std::string(84, 'x'), std::string("\3"), std::string(33, '\xff')}) {
    const absl::Status refusal = Refusal(bytes);
    EXPECT_EQ(FallbackOf(refusal).code, FallbackCode::kVersion) << refusal;
    EXPECT_THAT(refusal.message(), testing::HasSubstr(absl::StrCat("version ", static_cast<uint8_t>(bytes[0]))));
  }
}

TEST(ShmOfferTest, EveryTruncationAndAdditionIsRefused) {
  const std::string bytes = EncodeOffer(SampleOffer());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(FallbackOf(Refusal(bytes.substr(0, size))).code, FallbackCode::kProtocol) << size;
  }
  EXPECT_EQ(FallbackOf(Refusal(bytes + "x")).code, FallbackCode::kProtocol);
}

TEST(ShmOfferTest, TokensDifferInAnyByte) {
  const std::string token(16, 't');
  EXPECT_TRUE(SameToken(token, token));
  EXPECT_FALSE(SameToken(token, token.substr(1)));
  for (size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] ^= 1;
    EXPECT_FALSE(SameToken(token, other)) << i;
  }
}

}  // namespace
}  // namespace skein::channel::shm
