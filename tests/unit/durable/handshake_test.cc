#include "core/durable/flush/handshake.h"

#include <string>

#include "gtest/gtest.h"

namespace skein::durable {
namespace {

FlushOffer AnOffer() {
  return {.mode = FlushMode::kSFlush,
          .wanted = Persistence::kFlushed,
          .slots = 16,
          .reply_bytes = 100,
          .flush = true,
          .flush_persistent = false,
          .feedback = {.address = 0x1234567890, .rkey = 77},
          .queue_pair = "an offer"};
}
FlushAnswer AnAnswer() {
  return {.level = Persistence::kEmulated,
          .verb = FlushVerb::kFlushPersistent,
          .shape = {.slot_bytes = 4096, .slots = 16},
          .key = {.identity = {1, 2, 3}, .epoch = 4},
          .head = 5,
          .next = 21,
          .slots = {.address = 99, .rkey = 1},
          .queue_pair = "an answer"};
}

TEST(HandshakeTest, OffersArriveAsTheyWere) {
  const auto offer = DecodeOffer(EncodeOffer(AnOffer()));
  ASSERT_TRUE(offer.ok()) << offer.status();
  EXPECT_EQ(EncodeOffer(*offer), EncodeOffer(AnOffer()));
  EXPECT_EQ(offer->feedback.address, 0x1234567890u);
  EXPECT_EQ(offer->wanted, Persistence::kFlushed);
  EXPECT_TRUE(offer->flush);
  EXPECT_FALSE(offer->flush_persistent);
  EXPECT_EQ(offer->queue_pair, "an offer");
}

TEST(HandshakeTest, AnswersArriveAsTheyWere) {
  const auto answer = DecodeAnswer(EncodeAnswer(AnAnswer()));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(EncodeAnswer(*answer), EncodeAnswer(AnAnswer()));
  EXPECT_EQ(answer->key.identity, (LogId{1, 2, 3}));
  EXPECT_EQ(answer->verb, FlushVerb::kFlushPersistent);
  EXPECT_EQ(answer->queue_pair, "an answer");
}

TEST(HandshakeTest, WhatMakesNoSenseIsRefused) {
  const auto refused = [](auto change) {
    FlushAnswer answer = AnAnswer();
    change(answer);
    return DecodeAnswer(EncodeAnswer(answer)).status().code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](FlushAnswer& a) { a.head = 0; }));
  EXPECT_TRUE(refused([](FlushAnswer& a) { a.head = 22; }));
  EXPECT_TRUE(refused([](FlushAnswer& a) { a.next = 22; })) << "more than there are slots";
  EXPECT_TRUE(refused([](FlushAnswer& a) { a.head = kSlowDown, a.next = kSlowDown + 1; }));
  EXPECT_TRUE(refused([](FlushAnswer& a) { a.key.epoch = 0; }));
  EXPECT_TRUE(refused([](FlushAnswer& a) { a.shape.slots = 0; }));
  EXPECT_TRUE(refused([](FlushAnswer& a) { a.shape.slot_bytes = 64; }));
  EXPECT_TRUE(refused([](FlushAnswer& a) { a.shape.slot_bytes = ~0u; }));
  EXPECT_TRUE(refused([](FlushAnswer& a) { a.level = static_cast<Persistence>(9); }));
  EXPECT_TRUE(refused([](FlushAnswer& a) { a.verb = static_cast<FlushVerb>(3); }));
  FlushOffer offer = AnOffer();
  offer.reply_bytes = kMostReplyBytes + 1;
  EXPECT_FALSE(DecodeOffer(EncodeOffer(offer)).ok());
  offer = AnOffer();
  offer.mode = static_cast<FlushMode>(0);
  EXPECT_FALSE(DecodeOffer(EncodeOffer(offer)).ok());
}

TEST(HandshakeTest, NeitherIsTakenForTheOtherNorWhenCutShort) {
  EXPECT_FALSE(DecodeOffer(EncodeAnswer(AnAnswer())).ok());
  EXPECT_FALSE(DecodeAnswer(EncodeOffer(AnOffer())).ok());
  for (size_t length = 0; length < 32; ++length) {
    EXPECT_FALSE(DecodeOffer(EncodeOffer(AnOffer()).substr(0, length)).ok());
    EXPECT_FALSE(DecodeAnswer(EncodeAnswer(AnAnswer()).substr(0, 2 * length)).ok());
  }
}

}  // namespace
}  // namespace skein::durable
