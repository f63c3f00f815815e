// Lanes go, and come back: what they had is given back, and whatever else happens at any step, nothing is lost.
#include <memory>
#include <utility>

#include "core/fabric/sim/simulation.h"
#include "core/link/link.h"
#include "gtest/gtest.h"
#include "tests/support/noted_device.h"
#include "tests/unit/link/conversation.h"
#include "tests/unit/link/hostile_peer.h"

namespace skein::link {
namespace {

using schedule::PoolWish;

class ShrinkingTest : public testing::Test {
 protected:
  ShrinkingTest() {
    for (int i = 0; i < 4; ++i) talk_.AddStream();
  }
  LinkOptions Options(uint16_t lanes) {
    return {.ring_bytes = wire::kRingGranule, .max_lanes = lanes, .pool = [this](uint32_t, size_t) {
              // It does not wish for fewer than it has been told to.
              const PoolWish wish = wish_;
              if (wish == PoolWish::kFewer) wish_ = PoolWish::kAsIs;
              return wish;
            }};
  }

  void Poll() {
    Link* const links[] = {talk_.client.get(), talk_.server.get()};
    PollAll(simulation_, links);
  }
  // All streams talk until the client has so many lanes, but no longer than they should need to.
  void TalkUntil(size_t lanes) {
    for (int round = 0; round < 3000 && talk_.client->lanes() != lanes; ++round) {
      wish_ = talk_.client->lanes() < lanes ? PoolWish::kMore : PoolWish::kFewer;
      Round();
    }
    wish_ = PoolWish::kAsIs;
    Poll();
    EXPECT_EQ(talk_.client->lanes(), lanes);
    EXPECT_EQ(talk_.server->lanes(), lanes);
  }
  void Round() {
    for (size_t i = 0; i < talk_.streams(); ++i) {
      talk_.Say(i, true, 24);
      talk_.Say(i, false, 24);
      Poll();
    }
  }
  // Three lanes, the last of which begins to go. Then both ends poll in turn, the server first, so many times in all.
  void CloseUpTo(int steps) {
    TalkUntil(3);
    wish_ = PoolWish::kFewer;
    while (wish_ == PoolWish::kFewer) {
      for (size_t i = 0; i < talk_.streams(); ++i) talk_.Say(i, true, 24);
      simulation_.RunUntilIdle();
      talk_.server->Poll();
      simulation_.RunUntilIdle();
      talk_.client->Poll();
    }
    for (int step = 0; step < steps; ++step) {
      simulation_.RunUntilIdle();
      (step % 2 == 0 ? talk_.server : talk_.client)->Poll();
    }
    simulation_.RunUntilIdle();
  }

  fabric::Simulation simulation_{20261122};
  const std::shared_ptr<fabric::NotedDevice> client_device_ =
      std::make_shared<fabric::NotedDevice>(simulation_.CreateDevice("client"));
  const std::shared_ptr<fabric::NotedDevice> server_device_ =
      std::make_shared<fabric::NotedDevice>(simulation_.CreateDevice("server"));
  PoolWish wish_ = PoolWish::kAsIs;
  Conversation talk_{client_device_, Options(4), server_device_, Options(4)};
};

TEST_F(ShrinkingTest, WhatALaneHadIsGivenBackAndTakenAgain) {
  TalkUntil(2);
  const size_t clients = client_device_->bytes();
  const size_t servers = server_device_->bytes();
  for (int cycle = 0; cycle < 3; ++cycle) {
    TalkUntil(4);
    EXPECT_GT(client_device_->bytes(), clients);
    EXPECT_GT(server_device_->bytes(), servers);
    TalkUntil(2);
    EXPECT_EQ(client_device_->bytes(), clients);
    EXPECT_EQ(server_device_->bytes(), servers);
  }
  talk_.ExpectAllHeard();
}

TEST_F(ShrinkingTest, TheFirstLaneStays) {
  TalkUntil(2);
  TalkUntil(1);
  wish_ = PoolWish::kFewer;
  for (int round = 0; round < 200; ++round) Round();
  EXPECT_EQ(talk_.client->lanes(), 1u);
  talk_.ExpectAllHeard();
}

TEST_F(ShrinkingTest, WhatWasRefusedOnceDoesNotKeepTheOthersAway) {
  Conversation talk(client_device_, Options(4), server_device_, Options(2));
  talk.AddStream();
  Link* const links[] = {talk.client.get(), talk.server.get()};
  for (const size_t lanes : {2u, 1u, 2u}) {
    for (int round = 0; round < 3000; ++round) {
      wish_ = lanes == 2 ? PoolWish::kMore : PoolWish::kFewer;
      talk.Say(0, true, 24);
      PollAll(simulation_, links);
    }
    EXPECT_EQ(talk.client->lanes(), lanes);
    EXPECT_EQ(talk.server->lanes(), lanes);
  }
  talk.ExpectAllHeard();
}

// What happens after so many steps of the closing.
class ShrinkingStepsTest : public ShrinkingTest, public testing::WithParamInterface<int> {
 protected:
  ShrinkingStepsTest() { CloseUpTo(GetParam()); }
};

TEST_P(ShrinkingStepsTest, TheLinkGoesOn) {
  Poll();
  EXPECT_EQ(talk_.client->lanes(), 2u);
  EXPECT_EQ(talk_.server->lanes(), 2u);
  TalkUntil(4);
  talk_.ExpectAllHeard();
}

TEST_P(ShrinkingStepsTest, ThePeerIsSilentForAWhile) {
  int said = 0;
  for (int round = 0; round < 100; ++round) {
    wish_ = PoolWish::kMore;
    if (round == 50) talk_.AddStream();
    for (size_t i = 0; i < talk_.streams(); ++i) said += talk_.Say(i, true, 24) ? 1 : 0;
    talk_.client->Poll();
    simulation_.RunUntilIdle();
  }
  EXPECT_GT(said, 0);
  Poll();
  Round();
  talk_.ExpectAllHeard();
}

TEST_P(ShrinkingStepsTest, EitherEndCloses) {
  (GetParam() % 3 == 0 ? talk_.client : talk_.server)->Close();
  for (int i = 0; i < 100; ++i) {
    for (Link* link : {talk_.client.get(), talk_.server.get()}) link->StillConnected();
    Poll();
  }
  EXPECT_TRUE(talk_.client->finished());
  EXPECT_TRUE(talk_.server->finished());
  talk_.ExpectAllLost();
}

TEST_P(ShrinkingStepsTest, ThePeerDies) {
  simulation_.KillDevice("server");
  for (int round = 0; round < 100 && !talk_.client->finished(); ++round) {
    for (size_t i = 0; i < talk_.streams(); ++i) talk_.Say(i, true, 24);
    Poll();
  }
  EXPECT_TRUE(talk_.client->finished());
  talk_.server->Close();
  Poll();
  talk_.ExpectAllLost();
}

// Once the server has let go of it, nobody else's. Before that the link ends, or it does not; none of its ends hangs.
TEST_P(ShrinkingStepsTest, ItsQueuePairFails) {
  const bool servers_is_gone = talk_.server->lanes() == 2;
  if (talk_.client->lanes() == 3) {
    ASSERT_TRUE(simulation_.FailQueuePair(client_device_->queue_pairs.back()));
  }
  // It has something to say on every lane.
  talk_.client->Tell(Presence::kAwake);
  talk_.client->Tell(Presence::kMaySleep);
  simulation_.RunUntilIdle();
  if (servers_is_gone) {
    EXPECT_TRUE(talk_.client->StillConnected());
  }
  for (int round = 0; round < 20; ++round) {
    for (Link* link : {talk_.client.get(), talk_.server.get()}) link->StillConnected();
    Round();
  }
  EXPECT_EQ(talk_.client->finished(), talk_.server->finished());
  if (servers_is_gone) talk_.ExpectAllHeard();
  if (talk_.client->finished()) talk_.ExpectAllLost();
}

INSTANTIATE_TEST_SUITE_P(Steps, ShrinkingStepsTest, testing::Range(0, 6));

}  // namespace
}  // namespace skein::link
