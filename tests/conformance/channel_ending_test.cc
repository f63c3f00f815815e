// What an end does when the other one goes.
#include "tests/conformance/channel_conformance.h"

namespace skein::channel {
namespace {

class ChannelEnding : public ChannelConformance {
 protected:
  bool SeesTheEnd(ChannelEnd& end) {
    return Eventually([&] {
      // Where nothing announces it, who sends notices.
      if (!end.transport->traits().announces_close) end.Send("anybody?").IgnoreError();
      return end.channel->Ended() || !end.channel->StillConnected();
    });
  }
};

TEST_P(ChannelEnding, WhatHadArrivedIsStillRead) {
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(a().Send(Text(500, i)).ok());
  channels().Settle();
  a().channel->Close();
  ASSERT_TRUE(SeesTheEnd(b()));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Reads(b(), Text(500, i)));
  EXPECT_FALSE(b().channel->connected());
  EXPECT_FALSE(b().channel->peer_broke_protocol());
  EXPECT_FALSE(b().channel->why_ended().ok());
}

TEST_P(ChannelEnding, WhoClosesKnowsWhy) {
  EXPECT_TRUE(a().channel->StillConnected());
  a().channel->Close();
  EXPECT_FALSE(a().channel->StillConnected());
  EXPECT_TRUE(a().channel->Ended() || !a().channel->connected());
  EXPECT_FALSE(a().channel->peer_broke_protocol());
  EXPECT_FALSE(a().channel->why_ended().ok());
  a().channel->Close();
}

TEST_P(ChannelEnding, ThePeerOfOneThatIsGoneSeesIt) {
  end_a()->channel = nullptr;
  EXPECT_TRUE(SeesTheEnd(b()));
  EXPECT_FALSE(b().channel->why_ended().ok());
}

TEST_P(ChannelEnding, AfterDisconnectItHasEnded) {
  a().channel->Disconnect();
  EXPECT_FALSE(a().channel->connected());
  EXPECT_TRUE(a().channel->Ended());
}

TEST_P(ChannelEnding, NothingGoesAnyMore) {
  a().channel->Close();
  Pump();
  const absl::Status laid = a().Lay({"too late"});
  EXPECT_FALSE(laid.ok() && a().Publish().ok());
}

INSTANTIATE_TEST_SUITE_P(All, ChannelEnding, EveryTransport(), TransportName);

}  // namespace
}  // namespace skein::channel
