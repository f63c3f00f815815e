// What an end says of itself goes through the processes' hands.
#include "core/service/offer.h"

#include <random>
#include <string>

#include "core/base/fallback.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::service {
namespace {

TEST(ServiceOffer, IsReadAsItWasWritten) {
  const absl::StatusOr<Offer> read = DecodeOffer(EncodeOffer({0xABCDEF, 0x1234567890ABCDEF, 18515, "fe80::1"}));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->number, 0xABCDEFU);
  EXPECT_EQ(read->token, 0x1234567890ABCDEFU);
  EXPECT_EQ(read->port, 18515);
  EXPECT_EQ(read->host, "fe80::1");
}

TEST(ServiceOffer, OfAnotherVersionIsSaidToBe) {
  std::string bytes = EncodeOffer({1, 2, 3, "::1"});
  ++bytes[0];
  EXPECT_EQ(FallbackOf(DecodeOffer(bytes).status()).code, FallbackCode::kVersion);
}

TEST(ServiceOffer, NeitherShorterNorLonger) {
  const std::string bytes = EncodeOffer({1, 2, 3, "127.0.0.1"});
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(FallbackOf(DecodeOffer(bytes.substr(0, size)).status()).code, FallbackCode::kProtocol) << size;
  }
  EXPECT_FALSE(DecodeOffer(bytes + '1').ok());
}

// Else skeind would have a connection for each spelling.
TEST(ServiceOffer, AHostHasOneSpelling) {
  using std::string_literals::operator""s;
  for (const std::string& one : {"10.9.0.2"s, "fe80::1"s, "2001:db8::ff"s, ""s}) {
    EXPECT_TRUE(DecodeOffer(EncodeOffer({1, 2, 3, one})).ok()) << one;
  }
  for (const std::string& other : {"10.9.2"s, "0x0a090002"s, "010.9.0.2"s, "10.9.0.2\0x"s, "10.9.0.2 "s, "FE80::1"s,
                                   "fe80:0::1"s, "fe80::1%lo"s, "localhost"s, std::string(64, '1')}) {
    EXPECT_EQ(FallbackOf(DecodeOffer(EncodeOffer({1, 2, 3, other})).status()).code, FallbackCode::kProtocol) << other;
  }
}

TEST(ServiceOffer, APortIsOfSixteenBits) {
  std::string bytes = EncodeOffer({1, 2, 0xFFFF, "127.0.0.1"});
  ASSERT_TRUE(DecodeOffer(bytes).ok());
  bytes[18] = 1;  // its third byte
  EXPECT_FALSE(DecodeOffer(bytes).ok());
}

TEST(ServiceOffer, WhatIsReadOfAnyBytesIsWhatTheyAre) {
  std::mt19937 random(31);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = EncodeOffer({1, 2, 3, "127.0.0.1"});
    for (int changes = 0; changes < 3; ++changes) bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % 4 == 0 ? random() % 200 : bytes.size());
    const absl::StatusOr<Offer> read = DecodeOffer(bytes);
    if (read.ok()) {
      EXPECT_EQ(EncodeOffer(*read), bytes);
    }
  }
}

}  // namespace
}  // namespace skein::service
