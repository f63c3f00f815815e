// What no honest peer writes ends the link, with the reason, and every port hears of it once.
#include <memory>
#include <string>
#include <vector>

#include "core/wire/immediate.h"
#include "gtest/gtest.h"
#include "tests/support/ring_link.h"
#include "tests/unit/link/hostile_peer.h"
#include "tests/unit/link/recording_port.h"

namespace skein::link {
namespace {

using wire::ItemKind;

// The victim is the passive side, with two streams.
class HostileItemsTest : public testing::Test {
 protected:
  HostileItemsTest() {
    Link::Answer accepted = link_->Accept(peer_.Offer()).value();
    peer_.Attach(accepted.ring, accepted.connection);
    first_ = AddPort();
    second_ = AddPort();
  }
  std::shared_ptr<RecordingPort> AddPort() {
    auto port = std::make_shared<RecordingPort>(link_->ports().NewNumber());
    EXPECT_TRUE(link_->ports().Add(port).ok());
    return port;
  }
  void Greet() { peer_.WriteItem(peer_.Hello()); }
  void Poll() {
    Link* const links[] = {link_.get()};
    PollAll(simulation_, links);
  }
  void ExpectLost(absl::string_view why) {
    Poll();
    EXPECT_TRUE(link_->finished());
    for (const auto& port : {first_, second_}) {
      EXPECT_EQ(port->losses, 1);
      EXPECT_GE(port->notifications, 1);
      EXPECT_TRUE(absl::IsUnavailable(port->lost)) << port->lost;
      EXPECT_NE(port->lost.message().find(std::string(why)), std::string::npos) << port->lost;
    }
    EXPECT_TRUE(absl::IsUnavailable(link_->ports().Add(std::make_shared<RecordingPort>(9))));
    EXPECT_EQ(link_->ports().NewNumber(), 0u);
    simulation_.RunUntilIdle();
    EXPECT_TRUE(peer_.cut_off());
  }
  void ExpectAlive() {
    Poll();
    EXPECT_FALSE(link_->finished()) << first_->lost;
    EXPECT_EQ(first_->losses, 0);
  }

  fabric::Simulation simulation_{20261121};
  std::shared_ptr<Link> link_ = LinkOn(simulation_.CreateDevice("victim"), {wire::kRingGranule});
  HostilePeer peer_{simulation_};
  std::shared_ptr<RecordingPort> first_;
  std::shared_ptr<RecordingPort> second_;
};

// Every other test here would pass if nothing ever worked.
TEST_F(HostileItemsTest, WellFormedItemsAreDelivered) {
  Greet();
  peer_.Write(
      4, wire::RawItem(ItemKind::kOpen, 1, 0, NumberPayload(1000)) + wire::RawItem(ItemKind::kData, 1, 1, "abc") +
             wire::RawItem(ItemKind::kWindow, 1, 2, NumberPayload(5)) + wire::RawItem(ItemKind::kCloseWrite, 1, 3));
  peer_.WriteItem(ItemKind::kAbort, 2, 0, "why not");
  ExpectAlive();
  EXPECT_TRUE(link_->channel().met());
  EXPECT_EQ(first_->opened_with, 1000u);
  EXPECT_EQ(first_->data, "abc");
  EXPECT_EQ(first_->window, 5u);
  EXPECT_EQ(first_->closes, 1);
  EXPECT_EQ(second_->abort_text, "why not");
}

TEST_F(HostileItemsTest, AnItemBeforeTheHello) {
  peer_.WriteItem(ItemKind::kData, 1, 0, "x");
  ExpectLost("not a hello");
  EXPECT_EQ(first_->data, "");
}

TEST_F(HostileItemsTest, ASecondHello) {
  Greet();
  ExpectAlive();
  peer_.WriteItem(peer_.Hello());
  ExpectLost("unexpected hello");
}

TEST_F(HostileItemsTest, TwoHellosInOneMessage) {
  peer_.Write(2, peer_.Hello() + peer_.Hello());
  ExpectLost("unexpected hello");
}

TEST_F(HostileItemsTest, AHelloWithAnImpossibleRing) {
  wire::RingDescriptor ring = peer_.ring();
  ring.size = 1000;
  peer_.WriteItem(ItemKind::kHello, 0, 0, wire::EncodeRingDescriptor(ring));
  ExpectLost("a ring of 1000 bytes");
}

TEST_F(HostileItemsTest, AHelloThatIsCutShort) {
  peer_.WriteItem(ItemKind::kHello, 0, 0, "short");
  ExpectLost("malformed ring descriptor");
}

TEST_F(HostileItemsTest, ARingThatIsNotThere) {
  wire::RingDescriptor ring = peer_.ring();
  ring.rkey += 1000;
  peer_.WriteItem(ItemKind::kHello, 0, 0, wire::EncodeRingDescriptor(ring));
  ExpectAlive();  // until it writes there
  link_->SendControl(first_, ItemKind::kCloseWrite);
  ExpectLost("");
}

TEST_F(HostileItemsTest, AnItemForAStreamNeverGiven) {
  Greet();
  peer_.WriteItem(ItemKind::kData, 3, 0, "x");
  ExpectLost("an item for stream 3");
}

TEST_F(HostileItemsTest, AnItemForStreamZero) {
  Greet();
  peer_.WriteItem(ItemKind::kData, 0, 0, "x");
  ExpectLost("an item for stream 0");
}

TEST_F(HostileItemsTest, AnAbortForAStreamNeverGiven) {
  Greet();
  peer_.WriteItem(ItemKind::kAbort, 3, 0, "x");
  ExpectLost("an item for stream 3");
}

TEST_F(HostileItemsTest, ASkippedSequence) {
  Greet();
  peer_.WriteItem(ItemKind::kData, 1, 0, "a");
  peer_.WriteItem(ItemKind::kData, 1, 2, "c");
  ExpectLost("stream 1 skipped an item");
  EXPECT_EQ(first_->data, "a");
}

TEST_F(HostileItemsTest, ARepeatedSequence) {
  Greet();
  peer_.WriteItem(ItemKind::kData, 2, 0, "a");
  peer_.WriteItem(ItemKind::kData, 2, 0, "a");
  ExpectLost("stream 2 skipped an item");
}

TEST_F(HostileItemsTest, AWindowThatIsNoNumber) {
  Greet();
  peer_.WriteItem(ItemKind::kWindow, 1, 0, "1234567");
  ExpectLost("not a number");
}

TEST_F(HostileItemsTest, AnUnknownKind) {
  Greet();
  peer_.WriteItem(static_cast<ItemKind>(99), 1, 0);
  ExpectLost("unknown kind 99");
}

TEST_F(HostileItemsTest, MoreItemsToldThanThere) {
  Greet();
  peer_.Write(UINT32_MAX - 1, wire::RawItem(ItemKind::kData, 1, 0, "x"));
  ExpectLost("");
  EXPECT_EQ(first_->data, "x");
}

TEST_F(HostileItemsTest, AnItemLongerThanItsMessage) {
  Greet();
  wire::ItemHeader header;
  header.stream = 1;
  header.size = UINT32_MAX;
  peer_.WriteItem(wire::RawItem(header, "x"));
  ExpectLost("an item of 4294967295 bytes");
  EXPECT_EQ(first_->data, "");
}

TEST_F(HostileItemsTest, AMessageHeaderOutsideTheFormat) {
  Greet();
  wire::MessageHeader header;
  header.items = wire::kWrap;
  peer_.Write(header, std::string(64, '\0'));
  ExpectLost("malformed header");
}

// Not a protocol error: the stream has ended at this end, and the peer may not know yet.
TEST_F(HostileItemsTest, ItemsForAnEndedStreamAreDropped) {
  Greet();
  Poll();
  link_->ports().Remove(2);
  peer_.WriteItem(ItemKind::kData, 2, 7, "late");
  ExpectAlive();
}

// Each open for an ended stream is answered; without a limit a peer that never reads could have memory filled with it.
TEST_F(HostileItemsTest, MoreOpensForEndedStreamsThanThereWereStreams) {
  Greet();
  Poll();
  link_->ports().Remove(2);
  peer_.WriteItem(ItemKind::kOpen, 2, 0, NumberPayload(1));
  peer_.WriteItem(ItemKind::kOpen, 2, 0, NumberPayload(1));
  ExpectAlive();
  peer_.WriteItem(ItemKind::kOpen, 2, 0, NumberPayload(1));
  Poll();
  EXPECT_TRUE(link_->finished());
  EXPECT_EQ(first_->losses, 1);
  EXPECT_NE(first_->lost.message().find("more opens than streams"), std::string::npos) << first_->lost;
}

// The active side must not be given a hello at all.
TEST(HostilePassiveSideTest, AHelloToTheActiveSide) {
  fabric::Simulation simulation(20261121);
  HostilePeer peer(simulation);
  const std::shared_ptr<Link> link = LinkOn(simulation.CreateDevice("victim"), {wire::kRingGranule});
  const std::string answer = peer.Accept(link->Offer().value());
  peer.Attach({});
  ASSERT_TRUE(link->Complete({answer, peer.ring()}).ok());
  const auto port = std::make_shared<RecordingPort>(1);
  ASSERT_TRUE(link->ports().Add(port).ok());
  Link* const links[] = {link.get()};
  PollAll(simulation, links);
  const wire::RingDescriptor victims = peer.ReceivedHello();
  ASSERT_GT(victims.size, 0u);
  peer.Attach(victims);
  peer.WriteItem(peer.Hello());
  PollAll(simulation, links);
  EXPECT_TRUE(link->finished());
  EXPECT_EQ(port->losses, 1);
  EXPECT_NE(port->lost.message().find("unexpected hello"), std::string::npos) << port->lost;
}

TEST_F(HostileItemsTest, AnImmediateOutsideTheFormat) {
  Greet();
  Poll();
  peer_.Ring(2);
  ExpectLost("an immediate of");
}

// It is answered each time, and by one line, whether or not the peer looks at it.
TEST_F(HostileItemsTest, CreditsAskedForWithoutReadingTheAnswers) {
  Greet();
  constexpr uint16_t kAnswers = 1000;
  for (int i = 0; i < kAnswers; ++i) {
    peer_.Ring(wire::kRenewal);
    Poll();
  }
  ExpectAlive();
  EXPECT_EQ(peer_.heard().answers, kAnswers);
  EXPECT_EQ(peer_.heard().refills, kAnswers);
}

}  // namespace
}  // namespace skein::link
