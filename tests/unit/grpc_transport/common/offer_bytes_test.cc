// Offers and answers as bytes: what is ours is read back, what is not is left alone, and nothing keeps us waiting.
#include "grpc_transport/common/offer_bytes.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

constexpr size_t kMaxOffer = 256;
constexpr size_t kMaxAnswer = 1024;

std::string RandomText(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

std::string BigEndian(uint32_t value, int bytes) {
  std::string out;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
  return out;
}

struct Setting {
  uint16_t id;
  uint32_t value;
};

std::string FrameHeader(size_t length, uint8_t type, uint8_t flags = 0, uint32_t stream = 0) {
  return BigEndian(static_cast<uint32_t>(length), 3) + BigEndian(type, 1) + BigEndian(flags, 1) + BigEndian(stream, 4);
}

std::string SettingsFrame(const std::vector<Setting>& settings) {
  std::string frame = FrameHeader(6 * settings.size(), 4);
  for (const Setting& setting : settings) frame += BigEndian(setting.id, 2) + BigEndian(setting.value, 4);
  return frame;
}

std::string Http2(const std::vector<std::vector<Setting>>& frames) {
  std::string bytes(kHttp2Preface);
  for (const auto& frame : frames) bytes += SettingsFrame(frame);
  return bytes;
}

// The settings that carry `offer`, one by one.
std::vector<Setting> SettingsOf(absl::string_view offer) {
  std::vector<Setting> settings = {{0xF5A0, static_cast<uint32_t>(offer.size())}};
  for (size_t at = 0; at < offer.size(); at += 4) {
    uint32_t word = 0;
    for (size_t i = at; i < at + 4; ++i) word = word << 8 | (i < offer.size() ? static_cast<uint8_t>(offer[i]) : 0);
    settings.push_back({static_cast<uint16_t>(0xF5A1 + at / 4), word});
  }
  return settings;
}

Beginning Http2Beginning(absl::string_view bytes) { return ParseHttp2(bytes, kMaxOffer).beginning; }
Beginning FrameBeginning(absl::string_view bytes) { return ParseFrame(bytes, kMaxAnswer).beginning; }

TEST(HideInHttp2, RoundTripsEverySize) {
  for (size_t size = 1; size <= kMaxOffer; ++size) {
    const std::string offer = RandomText(size, static_cast<uint32_t>(size));
    const std::string bytes = HideInHttp2(offer);
    const Parsed parsed = ParseHttp2(bytes, kMaxOffer);
    ASSERT_EQ(parsed.beginning, Beginning::kWhole) << size;
    EXPECT_EQ(parsed.payload, offer) << size;
    EXPECT_EQ(parsed.size, bytes.size()) << size;
  }
}

TEST(HideInHttp2, EveryTruncationIsUndecided) {
  for (size_t size = 1; size <= kMaxOffer; ++size) {
    const std::string bytes = HideInHttp2(RandomText(size, 7));
    for (size_t length = 0; length < bytes.size(); ++length) {
      ASSERT_EQ(Http2Beginning(absl::string_view(bytes).substr(0, length)), Beginning::kUndecided)
          << length << " of " << bytes.size();
    }
  }
}

TEST(HideInHttp2, WhatFollowsIsNotTaken) {
  const std::string bytes = HideInHttp2("offer");
  const Parsed parsed = ParseHttp2(bytes + SettingsFrame({{3, 100}}), kMaxOffer);
  EXPECT_EQ(parsed.beginning, Beginning::kWhole);
  EXPECT_EQ(parsed.payload, "offer");
  EXPECT_EQ(parsed.size, bytes.size());
}

// Read by hand, as an ordinary server would.
TEST(HideInHttp2, IsTheBeginningOfHttp2WithFewSettingsPerFrame) {
  for (size_t size : {1, 4, 60, 61, 64, 128, 252, 253, 256}) {
    const std::string offer = RandomText(size, 3);
    std::string bytes = HideInHttp2(offer);
    ASSERT_EQ(bytes.substr(0, kHttp2Preface.size()), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    size_t at = kHttp2Preface.size();
    size_t settings = 0;
    while (at < bytes.size()) {
      ASSERT_GE(bytes.size() - at, 9u);
      const size_t length = static_cast<uint8_t>(bytes[at + 2]);
      ASSERT_EQ(bytes.substr(at, 9), FrameHeader(length, 4)) << "SETTINGS, no flags, stream 0, shorter than 256 bytes";
      ASSERT_GT(length, 0u);
      ASSERT_EQ(length % 6, 0u);
      ASSERT_LE(length / 6, 16u) << "settings in one frame";
      at += 9;
      for (size_t i = 0; i < length / 6; ++i, ++settings, at += 6) {
        ASSERT_EQ(bytes.substr(at, 2), BigEndian(0xF5A0 + static_cast<uint32_t>(settings), 2));
      }
    }
    EXPECT_EQ(at, bytes.size());
    EXPECT_EQ(settings, 1 + (size + 3) / 4);
  }
}

// The layout is what other versions of Skein read: it must not change by accident.
TEST(HideInHttp2, LayoutIsFixed) {
  const std::string expected =
      absl::StrCat(kHttp2Preface, absl::string_view("\x00\x00\x12\x04\x00\x00\x00\x00\x00", 9),
                   absl::string_view("\xF5\xA0\x00\x00\x00\x05", 6), absl::string_view("\xF5\xA1hell", 6),
                   absl::string_view("\xF5\xA2o\x00\x00\x00", 6));
  EXPECT_EQ(HideInHttp2("hello"), expected);
}

TEST(ParseHttp2, LeavesOrdinaryBeginningsAlone) {
  const std::string preface(kHttp2Preface);
  const std::string grpc = Http2({{{2, 0}, {4, 4194304}, {5, 4194304}, {6, 16384}, {0xFE03, 1}}});
  EXPECT_EQ(Http2Beginning(grpc), Beginning::kOther);
  EXPECT_EQ(Http2Beginning(Http2({{}})), Beginning::kOther) << "empty SETTINGS";
  EXPECT_EQ(Http2Beginning(Http2({{{0xF5A1, 5}}})), Beginning::kOther) << "a neighbouring setting";
  EXPECT_EQ(Http2Beginning(Http2({std::vector<Setting>(17, {0xF5A0, 5})})), Beginning::kOther) << "a long frame";
  EXPECT_EQ(Http2Beginning(preface + FrameHeader(4, 8)), Beginning::kOther) << "WINDOW_UPDATE first";
  EXPECT_EQ(Http2Beginning(preface + FrameHeader(6, 4, /*flags=*/1)), Beginning::kOther) << "an acknowledgement";
  EXPECT_EQ(Http2Beginning(preface + FrameHeader(6, 4, 0, /*stream=*/1)), Beginning::kOther);
  EXPECT_EQ(Http2Beginning(preface + FrameHeader(7, 4)), Beginning::kOther) << "half a setting";
  EXPECT_EQ(Http2Beginning("GET / HTTP/1.1\r\n"), Beginning::kOther);
  EXPECT_EQ(Http2Beginning("PRI * HTTP/2.1"), Beginning::kOther);
}

TEST(ParseHttp2, WaitsForNoMoreOfAnOrdinaryBeginningThanItMust) {
  const std::string bytes = Http2({{{3, 100}}});
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(Http2Beginning(absl::string_view(bytes).substr(0, length)), Beginning::kUndecided) << length;
  }
  EXPECT_EQ(Http2Beginning(bytes), Beginning::kOther);
  EXPECT_EQ(Http2Beginning(absl::string_view(Http2({{}}))), Beginning::kOther) << "nothing follows an empty frame";
}

TEST(ParseHttp2, TlsIsOtherFromItsFirstByte) {
  const std::string client_hello("\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03", 11);
  for (size_t length = 1; length <= client_hello.size(); ++length) {
    EXPECT_EQ(Http2Beginning(client_hello.substr(0, length)), Beginning::kOther) << length;
    EXPECT_EQ(FrameBeginning(client_hello.substr(0, length)), Beginning::kOther) << length;
  }
}

TEST(ParseHttp2, BrokenOffersAreMalformed) {
  const std::vector<Setting> good = SettingsOf("eight by");
  ASSERT_EQ(Http2Beginning(Http2({good})), Beginning::kWhole) << "the unbroken one";
  EXPECT_EQ(Http2Beginning(Http2({{{0xF5A0, 0}}})), Beginning::kMalformed) << "of no bytes";
  EXPECT_EQ(Http2Beginning(Http2({{{0xF5A0, kMaxOffer + 1}}})), Beginning::kMalformed) << "too long";
  EXPECT_EQ(Http2Beginning(Http2({{{0xF5A0, 0xFFFFFFFF}}})), Beginning::kMalformed) << "much too long";
  std::vector<Setting> skipped = good;
  skipped[1].id = 0xF5A2;
  EXPECT_EQ(Http2Beginning(Http2({skipped})), Beginning::kMalformed) << "a number left out";
  std::vector<Setting> repeated = good;
  repeated[2].id = 0xF5A1;
  EXPECT_EQ(Http2Beginning(Http2({repeated})), Beginning::kMalformed) << "a number twice";
  std::vector<Setting> longer = good;
  longer.push_back({0xF5A3, 0});
  EXPECT_EQ(Http2Beginning(Http2({longer})), Beginning::kMalformed) << "more settings than it says";
  EXPECT_EQ(Http2Beginning(Http2({{good[0]}}) + FrameHeader(6, 6)), Beginning::kMalformed) << "interrupted by a PING";
  EXPECT_EQ(Http2Beginning(Http2({{good[0]}, {}})), Beginning::kMalformed) << "interrupted by empty SETTINGS";
}

TEST(ParseHttp2, BoundIsTheCallers) {
  const std::string bytes = HideInHttp2(RandomText(101, 1));
  EXPECT_EQ(ParseHttp2(bytes, 101).beginning, Beginning::kWhole);
  EXPECT_EQ(ParseHttp2(bytes, 100).beginning, Beginning::kMalformed);
}

TEST(ParseHttp2, LongestOfferHasExactlyTheBoundsSize) {
  EXPECT_EQ(HideInHttp2(RandomText(kMaxOffer, 1)).size(), kMaxHttp2OfferBytes);
  EXPECT_LT(HideInHttp2(RandomText(kMaxOffer - 4, 1)).size(), kMaxHttp2OfferBytes);
}

// A server looks at so many bytes and no more: undecided after them would mean to read on until the timeout, and to
// keep all of it in memory.
TEST(ParseHttp2, OfferInManySmallFramesDoesNotOutrunTheBound) {
  std::vector<std::vector<Setting>> frames;
  for (const Setting& setting : SettingsOf(RandomText(kMaxOffer, 1))) frames.push_back({setting});
  const std::string bytes = Http2(frames);
  ASSERT_GT(bytes.size(), kMaxHttp2OfferBytes);
  EXPECT_EQ(Http2Beginning(bytes.substr(0, kMaxHttp2OfferBytes)), Beginning::kMalformed);
}

TEST(ParseHttp2, NothingIsUndecidedAtTheBound) {
  std::mt19937 random(20261121);
  for (int round = 0; round < 2000; ++round) {
    // An offer cut into frames at random, and then perhaps spoilt.
    std::vector<std::vector<Setting>> frames;
    const auto most = static_cast<size_t>(1 + random() % 17);
    for (const Setting& setting : SettingsOf(RandomText(1 + random() % kMaxOffer, random()))) {
      if (frames.empty() || frames.back().size() >= 1 + random() % most) frames.emplace_back();
      frames.back().push_back(setting);
    }
    std::string bytes = Http2(frames);
    if (round % 2 == 1) bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    bytes.resize(kMaxHttp2OfferBytes);
    ASSERT_NE(Http2Beginning(bytes), Beginning::kUndecided) << "round " << round;
  }
}

TEST(Frame, RoundTripsEverySizeAndEveryTruncationIsUndecided) {
  for (size_t size = 1; size <= kMaxAnswer; size += size < 40 ? 1 : 41) {
    const std::string answer = RandomText(size, static_cast<uint32_t>(size));
    const std::string bytes = Frame(answer);
    const Parsed parsed = ParseFrame(bytes + "what follows", kMaxAnswer);
    ASSERT_EQ(parsed.beginning, Beginning::kWhole) << size;
    EXPECT_EQ(parsed.payload, answer) << size;
    EXPECT_EQ(parsed.size, bytes.size()) << size;
    for (size_t length = 0; length < bytes.size(); ++length) {
      ASSERT_EQ(FrameBeginning(absl::string_view(bytes).substr(0, length)), Beginning::kUndecided) << length;
    }
  }
}

TEST(Frame, LayoutIsFixed) {
  EXPECT_EQ(Frame("yes"), absl::string_view("\xA5SKN\x01\x00\x03yes", 10));
  EXPECT_EQ(Frame(std::string(0x123, 'x')).substr(0, 7), absl::string_view("\xA5SKN\x01\x01\x23", 7));
}

// A TLS server hangs, rather than hang up, if it takes the second byte for TLS's version.
TEST(Frame, LooksLikeNeitherTlsNorHttp2) {
  const std::string bytes = Frame("offer");
  EXPECT_NE(bytes[0], '\x16');
  EXPECT_NE(bytes[1], '\x03');
  EXPECT_EQ(Http2Beginning(bytes.substr(0, 1)), Beginning::kOther);
}

TEST(ParseFrame, LongestFrameHasExactlyTheBoundsSize) {
  EXPECT_EQ(Frame(RandomText(kMaxAnswer, 1)).size(), kMaxFrameBytes);
  // As a server reads: an offer in a frame is decided within what it looks at.
  EXPECT_LT(Frame(RandomText(kMaxOffer, 1)).size(), kMaxHttp2OfferBytes);
}

TEST(ParseFrame, OrdinaryServersAreOther) {
  EXPECT_EQ(FrameBeginning(SettingsFrame({{3, 100}})), Beginning::kOther);
  EXPECT_EQ(FrameBeginning(absl::string_view("\x00", 1)), Beginning::kOther) << "of SETTINGS, one byte";
  EXPECT_EQ(FrameBeginning("HTTP/1.1 400 Bad Request"), Beginning::kOther);
  EXPECT_EQ(FrameBeginning(absl::string_view("\x15\x03\x01\x00\x02", 5)), Beginning::kOther) << "a TLS alert";
  EXPECT_EQ(FrameBeginning("\xA5SK?"), Beginning::kOther);
}

TEST(ParseFrame, BrokenFramesAreMalformed) {
  EXPECT_EQ(FrameBeginning("\xA5SKN\x02"), Beginning::kMalformed) << "another version";
  EXPECT_EQ(FrameBeginning(absl::string_view("\xA5SKN\x01\x00\x00", 7)), Beginning::kMalformed) << "of no bytes";
  EXPECT_EQ(FrameBeginning(absl::string_view("\xA5SKN\x01\x04\x01", 7)), Beginning::kMalformed) << "too long";
  EXPECT_EQ(FrameBeginning("\xA5SKN\x01\xFF\xFF"), Beginning::kMalformed) << "much too long";
}

}  // namespace
}  // namespace skein::grpc_transport
