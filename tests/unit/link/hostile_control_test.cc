// A peer's control line: what it may say, and what ends the link.
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/ring_link.h"
#include "tests/unit/link/hostile_peer.h"
#include "tests/unit/link/recording_port.h"

namespace skein::link {
namespace {

using wire::ItemKind;

// The victim is the passive side.
class HostileControlTest : public testing::Test {
 protected:
  HostileControlTest() {
    const Link::Answer accepted = link_->Accept(peer_.Offer()).value();
    peer_.Attach(accepted.ring, accepted.connection);
    EXPECT_TRUE(link_->ports().Add(port_).ok());
  }
  void Greet() {
    peer_.WriteItem(peer_.Hello());
    Poll();
  }
  void Poll() {
    Link* const links[] = {link_.get()};
    PollAll(simulation_, links);
  }
  void Send() { link_->SendControl(port_, ItemKind::kCloseWrite); }
  // More than half of the first credits: the victim has asked for more.
  void MakeItAsk() {
    for (int i = 0; i < 20; ++i) Send();
    Poll();
  }
  void Say(const wire::Control& says) {
    peer_.says = says;
    peer_.Say();
    Poll();
  }
  void ExpectAlive() {
    Poll();
    EXPECT_FALSE(link_->finished()) << port_->lost;
  }
  void ExpectLost(absl::string_view why) {
    Poll();
    EXPECT_TRUE(link_->finished());
    EXPECT_EQ(port_->losses, 1);
    EXPECT_NE(port_->lost.message().find(std::string(why)), std::string::npos) << port_->lost;
    simulation_.RunUntilIdle();
    EXPECT_TRUE(peer_.cut_off());
  }
  // Nobody has anything to do, however often it is looked at.
  void ExpectQuiet() {
    Poll();
    ASSERT_TRUE(link_->Arm());
    EXPECT_FALSE(link_->Poll());
    EXPECT_EQ(simulation_.pending_events(), 0u);
  }

  fabric::Simulation simulation_{20261128};
  const std::shared_ptr<Link> link_ = LinkOn(simulation_.CreateDevice("victim"), {wire::kRingGranule});
  HostilePeer peer_{simulation_};
  const std::shared_ptr<RecordingPort> port_ = std::make_shared<RecordingPort>(link_->ports().NewNumber());
};

// Every other test here would pass if nothing ever worked.
TEST_F(HostileControlTest, WhatIsTrueIsHeeded) {
  Greet();
  MakeItAsk();
  Say({.consumed = 20 * 64,
       .wanted = 64,
       .answers = 1,
       .refills = 1,
       .open = true,
       .presence = wire::Presence::kAwake});
  ExpectAlive();
  EXPECT_GE(peer_.heard().consumed, 64u) << "which was wanted";
  for (int i = 0; i < 20; ++i) Send();
  ExpectAlive();
  EXPECT_EQ(link_->traffic().messages_sent, 40u);
}

TEST_F(HostileControlTest, MoreConsumedThanWasWritten) {
  Greet();
  Say({.consumed = 64, .open = true});
  ExpectLost("head went where no message was");
}

TEST_F(HostileControlTest, ConsumedThatGoesBack) {
  Greet();
  Send();
  Say({.consumed = 64, .open = true});
  ExpectAlive();
  Say({.consumed = 0, .open = true});
  ExpectLost("head went where no message was");
}

// Before it has met its peer, an end has written nothing, and does not look.
TEST_F(HostileControlTest, WhatIsSaidBeforeTheHello) {
  Say({.consumed = 64, .open = true});
  ExpectQuiet();
  EXPECT_FALSE(link_->finished());
  peer_.WriteItem(peer_.Hello());
  ExpectLost("head went where no message was");
}

TEST_F(HostileControlTest, WantedThatGoesBack) {
  Greet();
  Say({.wanted = 128, .open = true});
  ExpectAlive();
  Say({.wanted = 64, .open = true});
  ExpectLost("what it cannot have written");
}

TEST_F(HostileControlTest, WantedBeyondTheRing) {
  Greet();
  const uint64_t read = 128;  // the hello
  Say({.wanted = read + wire::kRingGranule, .open = true});
  ExpectAlive();
  Say({.wanted = read + wire::kRingGranule + 64, .open = true});
  ExpectLost("what it cannot have written");
}

TEST_F(HostileControlTest, AnAnswerToNoRenewal) {
  Greet();
  Say({.answers = 1, .refills = 1, .open = true});
  ExpectLost("not asked for");
}

TEST_F(HostileControlTest, TwoAnswersToOne) {
  Greet();
  MakeItAsk();
  Say({.answers = 2, .refills = 1, .open = true});
  ExpectLost("not asked for");
}

TEST_F(HostileControlTest, ActivatedThoughActive) {
  Greet();
  Say({.refills = 1, .open = true});
  ExpectLost("an active queue pair was activated");
}

TEST_F(HostileControlTest, ClosedWithoutAnAnswer) {
  Greet();
  Say({.open = false});
  ExpectLost("no answer leads to");
}

TEST_F(HostileControlTest, CountersThatGoBack) {
  Greet();
  MakeItAsk();
  Say({.answers = 1, .refills = 1, .open = true});
  ExpectAlive();
  Say({.answers = 0, .refills = 0, .open = true});
  ExpectLost("not asked for");
}

TEST_F(HostileControlTest, ALineOutsideTheFormat) {
  Greet();
  wire::ControlLine line = wire::EncodeControl({.open = true}, peer_.victims_secret());
  line[2] |= uint64_t{3} << 40;
  peer_.SayWords(wire::RawControl(line, peer_.victims_secret()));
  ExpectLost("malformed control line");
}

// They have not arrived. The poller looks until they are a line (RingHandover says for how long).
TEST_F(HostileControlTest, WordsThatAreNoLine) {
  Greet();
  Send();
  for (uint64_t i = 1; i < 100; ++i) {
    peer_.SayWords({64, i, i << 40, i * 0x9e3779b97f4a7c15});
    EXPECT_FALSE(link_->Poll());
    EXPECT_FALSE(link_->Arm()) << "the poller sleeps, and the line may have no notification";
  }
  EXPECT_FALSE(link_->finished());
  Say({.consumed = 64, .open = true});
  ExpectAlive();
}

// Each is answered, by a line that takes the place of the last.
TEST_F(HostileControlTest, QuestionsWithoutEnd) {
  Greet();
  const uint64_t messages = link_->traffic().messages_sent;
  const uint64_t read = 128;  // the hello
  for (uint64_t wanted = 1; wanted <= read; ++wanted) {
    Say({.wanted = wanted, .open = true});
    ExpectQuiet();
  }
  EXPECT_FALSE(link_->finished());
  EXPECT_EQ(peer_.heard().consumed, read);
  EXPECT_EQ(link_->traffic().messages_sent, messages);
}

}  // namespace
}  // namespace skein::link
