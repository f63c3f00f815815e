// A lane that is to be closed: when nothing is lost with it any more.
#include <memory>
#include <string>

#include "core/channel/ring/ring_group.h"
#include "core/fabric/sim/simulation.h"
#include "core/link/lane.h"
#include "gtest/gtest.h"
#include "tests/unit/link/recording_port.h"

namespace skein::link {
namespace {

// Two lanes that are connected, without links.
class VacantLaneTest : public testing::Test {
 protected:
  VacantLaneTest() {
    for (Lane* lane : {&here_, &there_}) EXPECT_TRUE(lane->Open().ok());
    EXPECT_TRUE(here_.Complete(there_.Accept(here_.Offer().value()).value()).ok());
    EXPECT_TRUE(there_.OnGreeting(here_.Greeting()).ok());
  }
  void Read(Lane& lane) {
    simulation_.RunUntilIdle();
    for (const auto& group : groups_) group->Look();
    while (lane.channel().Next().value().has_value()) lane.channel().Pop();
    lane.channel().AfterReading();
    if (lane.channel().TakeRenewal().has_value()) {
      EXPECT_TRUE(lane.AnswerRenewal(true).ok());
    }
    EXPECT_TRUE(lane.AfterReceiving().ok());
  }

  static Lane::Options Numbered(uint16_t number) {
    return {.channel = {.ring_bytes = wire::kRingGranule}, .number = number};
  }

  fabric::Simulation simulation_{20261122};
  const std::shared_ptr<fabric::Device> devices_[2] = {simulation_.CreateDevice("here"),
                                                       simulation_.CreateDevice("there")};
  const std::unique_ptr<channel::RingGroup> groups_[2] = {channel::RingGroup::Create(devices_[0], 2).value(),
                                                          channel::RingGroup::Create(devices_[1], 2).value()};
  Lane here_{*groups_[0], Numbered(1)};
  Lane there_{*groups_[1], Numbered(1)};
  Lane other_{*groups_[0], Numbered(0)};
};

TEST_F(VacantLaneTest, WhatStreamsHaveSaidBeforeTheyEndedIsReadFirst) {
  const auto port = std::make_shared<RecordingPort>(1);
  here_.Place(*port);
  here_.Vacate();
  EXPECT_FALSE(here_.IsVacant()) << "a stream is there";
  Lane::SendControl(port, wire::ItemKind::kAbort, {});
  Lane::Remove(*port);
  EXPECT_FALSE(here_.IsVacant());
  Read(there_);
  Read(here_);
  EXPECT_TRUE(here_.IsVacant());
}

TEST_F(VacantLaneTest, AStreamThatHasToSaySomethingFirstDoesNotMove) {
  const auto port = std::make_shared<RecordingPort>(1);
  here_.Place(*port);
  // More than there are credits for.
  for (int i = 0; i < 60; ++i) Lane::SendControl(port, wire::ItemKind::kCloseWrite, {});
  EXPECT_FALSE(here_.Move(port, other_));
  Read(there_);
  Read(here_);
  EXPECT_TRUE(here_.Move(port, other_));
}

TEST_F(VacantLaneTest, ItsFailureIsNobodysLoss) {
  here_.Vacate();
  here_.IsVacant();
  Read(there_);
  Read(here_);
  ASSERT_TRUE(here_.IsVacant());
  there_.Release();
  // One word that goes and never arrives, one that does not go.
  for (const Presence presence : {Presence::kAwake, Presence::kMaySleep}) {
    groups_[0]->attention().presence = presence;
    here_.TellPresence();
    simulation_.RunUntilIdle();
    for (const auto& group : groups_) group->Look();
  }
  EXPECT_TRUE(here_.error().ok()) << here_.error();
  EXPECT_TRUE(here_.Flush(/*tells=*/false));
  EXPECT_TRUE(here_.StillConnected());
  EXPECT_FALSE(here_.Ends());
}

}  // namespace
}  // namespace skein::link
