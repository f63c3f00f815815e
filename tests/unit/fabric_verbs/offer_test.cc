// Addresses of queue pairs from a peer: what was encoded comes back, and nothing impossible is ever given to a device.
#include "core/fabric/verbs/offer.h"

#include <zlib.h>

#include <cstring>
#include <functional>
#include <string>

#include "core/base/fallback.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/exact_bytes.h"
#include "tests/support/ip_address.h"

namespace skein::fabric::verbs {
namespace {

Offer SampleOffer() {
  Offer offer;
  offer.address.mtu = 3;
  offer.address.reads = 16;
  offer.address.number = 0x123456;
  offer.address.sequence = 0xabcdef;
  offer.address.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 0, 1};
  offer.token = 0x0123456789abcdef;
  return offer;
}

absl::StatusOr<Offer> Decode(absl::string_view bytes, OfferKind kind = OfferKind::kOffer) {
  return DecodeOffer(kind, ExactBytes(bytes).text());
}

// Encodes with a right checksum whatever the fields are.
FallbackCode CodeOf(const std::function<void(Address&)>& spoil) {
  Offer offer = SampleOffer();
  spoil(offer.address);
  const absl::StatusOr<Offer> decoded = Decode(EncodeOffer(OfferKind::kOffer, offer));
  return decoded.ok() ? FallbackCode::kNone : FallbackOf(decoded.status()).code;
}

TEST(VerbsOfferTest, ComesBackAsItWas) {
  const Offer offer = SampleOffer();
  const absl::StatusOr<Offer> back = Decode(EncodeOffer(OfferKind::kAnswer, offer), OfferKind::kAnswer);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->token, offer.token);
  EXPECT_EQ(back->address.link_layer, LinkLayer::kEthernet);
  EXPECT_EQ(back->address.mtu, offer.address.mtu);
  EXPECT_EQ(back->address.reads, offer.address.reads);
  EXPECT_EQ(back->address.number, offer.address.number);
  EXPECT_EQ(back->address.sequence, offer.address.sequence);
  EXPECT_EQ(back->address.gid, offer.address.gid);
}

TEST(VerbsOfferTest, AnAnswerIsNoOfferNorTheOtherWayRound) {
  EXPECT_FALSE(Decode(EncodeOffer(OfferKind::kAnswer, SampleOffer()), OfferKind::kOffer).ok());
  EXPECT_FALSE(Decode(EncodeOffer(OfferKind::kOffer, SampleOffer()), OfferKind::kAnswer).ok());
}

TEST(VerbsOfferTest, EveryTruncationAdditionAndFlippedBitIsRefused) {
  const std::string bytes = EncodeOffer(OfferKind::kOffer, SampleOffer());
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(Decode(bytes.substr(0, size)).ok()) << size;
  EXPECT_FALSE(Decode(bytes + '\0').ok());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const absl::StatusOr<Offer> decoded = Decode(flipped);
    ASSERT_FALSE(decoded.ok()) << "bit " << bit;
    EXPECT_EQ(FallbackOf(decoded.status()).code, bit < 8 ? FallbackCode::kVersion : FallbackCode::kProtocol) << bit;
  }
}

// What an older Skein offers, whose rings have no control lines: both go on over TCP.
TEST(VerbsOfferTest, VersionOneIsRefusedAndRefusesThis) {
  std::string old = EncodeOffer(OfferKind::kOffer, SampleOffer());
  EXPECT_EQ(old[0], 2) << "which version 1 answers with kVersion";
  old[0] = 1;
  const auto checksum = static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const unsigned char*>(old.data()), static_cast<unsigned>(old.size() - 4)));
  std::memcpy(old.data() + old.size() - 4, &checksum, 4);
  EXPECT_EQ(FallbackOf(Decode(old).status()).code, FallbackCode::kVersion);
}

TEST(VerbsOfferTest, ImpossibleFieldsAreRefusedThoughTheChecksumIsRight) {
  const auto refused = FallbackCode::kProtocol;
  EXPECT_EQ(CodeOf([](Address&) {}), FallbackCode::kNone);
  EXPECT_EQ(CodeOf([](Address& a) { a.link_layer = static_cast<LinkLayer>(3); }), refused);
  EXPECT_EQ(CodeOf([](Address& a) { a.mtu = 0; }), refused);
  EXPECT_EQ(CodeOf([](Address& a) { a.mtu = 6; }), refused);
  for (uint32_t number : {0u, 1u, 0x1000000u, ~0u}) EXPECT_EQ(CodeOf([=](Address& a) { a.number = number; }), refused);
  EXPECT_EQ(CodeOf([](Address& a) { a.sequence = 0x1000000; }), refused);
  EXPECT_EQ(CodeOf([](Address& a) { a.gid = {}; }), refused);
  EXPECT_EQ(CodeOf([](Address& a) { a.gid[0] = 0xff; }), refused) << "multicast";
  EXPECT_EQ(CodeOf([](Address& a) { a.link_layer = LinkLayer::kInfiniband; }), refused) << "no LID";
  EXPECT_EQ(CodeOf([](Address& a) {
              a.link_layer = LinkLayer::kInfiniband;
              a.lid = 0xc000;
            }),
            refused)
      << "a multicast LID";
}

// To find the Ethernet address of somebody else costs a thread up to a second, and then the packets go there.
TEST(CheckComesFromTest, OnEthernetTheAddressMustBeTheConnections) {
  const Offer offer = SampleOffer();  // from 10.9.0.1
  for (OfferKind kind : {OfferKind::kOffer, OfferKind::kAnswer}) {
    const std::string bytes = EncodeOffer(kind, offer);
    EXPECT_TRUE(CheckComesFrom(Ip("::ffff:10.9.0.1"), bytes).ok());
    const absl::Status other = CheckComesFrom(Ip("::ffff:10.9.0.2"), bytes);
    EXPECT_EQ(FallbackOf(other).code, FallbackCode::kNoRoute);
    EXPECT_THAT(other.message(), testing::HasSubstr("10.9.0.1 is not that of the connection, ::ffff:10.9.0.2;"));
    EXPECT_EQ(FallbackOf(CheckComesFrom({}, bytes)).code, FallbackCode::kNoRoute) << "a UNIX socket's peer";
  }
}

TEST(CheckComesFromTest, OnInfinibandAGidIsNoIpAddress) {
  Offer offer = SampleOffer();
  offer.address.link_layer = LinkLayer::kInfiniband;
  offer.address.lid = 7;
  offer.address.gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 3, 0, 0x12, 0x34, 0x57};
  EXPECT_TRUE(CheckComesFrom(Ip("::ffff:10.9.0.2"), EncodeOffer(OfferKind::kOffer, offer)).ok());
}

TEST(CheckComesFromTest, WhatIsNoAddressIsRefused) {
  const std::string bytes = EncodeOffer(OfferKind::kOffer, SampleOffer());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(CheckComesFrom(Ip("::ffff:10.9.0.1"), ExactBytes(bytes.substr(0, size)).text()).ok()) << size;
  }
}

}  // namespace
}  // namespace skein::fabric::verbs
