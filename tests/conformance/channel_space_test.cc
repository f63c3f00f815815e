// How much may lie unread, and what a sender hears when it may send more.
#include "tests/conformance/channel_conformance.h"

namespace skein::channel {
namespace {

class ChannelSpace : public ChannelConformance {
 protected:
  // Until there is no space for more. How many messages.
  int Fill(ChannelEnd& end, size_t size, Use use = Use::kData) {
    int sent = 0;
    while (end.Send(Text(size, sent), use).ok()) ++sent;
    return sent;
  }
};

TEST_P(ChannelSpace, IsWhatAMessageMayCarry) {
  for (int i = 0; i < 200; ++i) {
    const size_t space = a().channel->Space(Use::kData);
    if (space < wire::ItemBytes(8)) break;
    const std::string text = Text((space - wire::ItemBytes(0)) & ~size_t{7}, i);
    ASSERT_TRUE(a().Send(text).ok()) << space;
    if (i % 3 != 0) continue;
    ASSERT_NE(Read(b()), "nothing");
  }
}

TEST_P(ChannelSpace, IsThereForWhatFits) {
  for (const Use use : {Use::kData, Use::kControl}) {
    for (int i = 0; i < 2000; ++i) {
      const std::string text = Text(static_cast<size_t>(i) * 37 % 5000, i);
      const bool fits = a().channel->Fits(wire::ItemBytes(text.size()), use);
      const bool laid = a().Lay({text}, use).ok();
      ASSERT_TRUE(laid || !fits) << i;
      if (laid && a().channel->Space(use) > 0) {
        ASSERT_TRUE(a().Publish().ok());
      }
      if (i % 3 == 0) b().Poll(2);
    }
    while (b().Poll() > 0) channels().Settle();
  }
}

TEST_P(ChannelSpace, EndsAndComesBackWhenThePeerReads) {
  for (int round = 0; round < 20; ++round) {
    const int sent = Fill(a(), 900 + 17 * round);
    ASSERT_GT(sent, 0);
    EXPECT_TRUE(absl::IsResourceExhausted(a().Lay({Text(kRingBytes, 0)})));
    for (int i = 0; i < sent; ++i) ASSERT_TRUE(Reads(b(), Text(900 + 17 * round, i)));
    ASSERT_TRUE(Eventually([&] {
      return a().channel->Space(Use::kData) >= wire::ItemBytes(a().channel->LargestItem());
    })) << "all was read";
  }
}

TEST_P(ChannelSpace, IsLeftForControl) {
  Fill(a(), 900);
  Fill(a(), 8);
  EXPECT_TRUE(a().Send("a word", Use::kControl).ok());
}

TEST_P(ChannelSpace, IsThereForTheLargestItemOnceAllIsRead) {
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(a().Send(Text(1000 * i % 7001, i)).ok());
    Read(b());
    const size_t largest = a().channel->LargestItem();
    ASSERT_TRUE(Eventually([&] { return a().channel->Space(Use::kData) >= wire::ItemBytes(largest); })) << i;
    ASSERT_TRUE(a().Send(Text(largest, i)).ok());
    ASSERT_TRUE(Reads(b(), Text(largest, i)));
  }
}

TEST_P(ChannelSpace, OfBothDirectionsIsFilledAtOnce) {
  const int there = Fill(a(), 1000);
  const int back = Fill(b(), 1000);
  for (int i = 0; i < there; ++i) ASSERT_TRUE(Reads(b(), Text(1000, i)));
  for (int i = 0; i < back; ++i) ASSERT_TRUE(Reads(a(), Text(1000, i)));
  EXPECT_TRUE(Eventually([&] { return a().Send("again").ok(); }));
}

// A sender that has found too little hears when there is more, though nobody sends it a message.
TEST_P(ChannelSpace, WakesASenderThatSleeps) {
  const int sent = Fill(a(), 1000);
  ASSERT_EQ(a().channel->Space(Use::kData), 0u);
  a().group->AckAllEvents();
  while (!a().Arm()) a().Poll();
  EXPECT_FALSE(channels().WouldWake(*a().group));
  for (int i = 0; i < sent; ++i) {
    channels().Settle();
    b().Poll(1);
  }
  channels().Settle();
  ASSERT_TRUE(channels().Sleep(*a().group));
  a().group->AckAllEvents();
  EXPECT_TRUE(Eventually([&] { return a().channel->Space(Use::kData) > 0; }));
}

// The hint stays until it is heeded, however often it is looked at.
TEST_P(ChannelSpace, IsHintedAtUntilItIsHeeded) {
  Fill(a(), 1000);
  do {
    channels().Settle();
  } while (b().Poll() > 0);
  channels().Settle();
  EXPECT_TRUE(a().channel->MoreSpace());
  EXPECT_FALSE(a().Arm()) << "nobody sleeps over it";
  ASSERT_TRUE(a().channel->Heed().ok());
  EXPECT_FALSE(a().channel->MoreSpace());
  EXPECT_GT(a().channel->Space(Use::kData), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, ChannelSpace, EveryTransport(), TransportName);

}  // namespace
}  // namespace skein::channel
