// Blocks that no honest peer announces, and answers to none: the link ends, with the reason.
#include <string>

#include "core/wire/block.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/ring_link.h"
#include "tests/unit/link/hostile_stream.h"
#include "tests/unit/link/recording_port.h"

namespace skein::link {
namespace {

using wire::ItemKind;

class HostileBlocksTest : public HostileStream {
 protected:
  // Lies in the peer's memory.
  wire::Block Block(uint32_t number, uint32_t size) const {
    return {peer_.ring().address, peer_.ring().rkey, size, number};
  }
  void Announce(const wire::Block& block) { Item(ItemKind::kBlock, wire::Encode(block)); }
  void Pulled(std::vector<uint32_t> numbers) { peer_.WriteItem(ItemKind::kPulled, 0, 0, wire::EncodePulled(numbers)); }
};

// Every other test here would pass if nothing ever worked.
TEST_F(HostileBlocksTest, AsManyBytesAsTheWindowAllowsArePulled) {
  Announce(Block(3, kWindow - 10));
  Announce(Block(0, 10));
  ExpectAlive();
  std::vector<stream::Buffer> buffers;
  ASSERT_TRUE(stream_->Read(1 << 20, buffers).ok());
  ASSERT_EQ(buffers.size(), 2u);
  EXPECT_EQ(buffers[0].size, kWindow - 10);
  EXPECT_EQ(buffers[1].size, 10u);
}

TEST_F(HostileBlocksTest, MoreThanTheWindowAllows) {
  Announce(Block(0, kWindow + 1));
  ExpectLost("more data than the window allows");
}

TEST_F(HostileBlocksTest, MoreThanTheWindowAllowsInManyBlocks) {
  Announce(Block(0, kWindow));
  Announce(Block(1, 1));
  ExpectLost("more data than the window allows");
}

TEST_F(HostileBlocksTest, ABlockOfNothing) {
  Announce(Block(0, 0));
  ExpectLost("block 0 of 0 bytes");
}

TEST_F(HostileBlocksTest, ABlockLargerThanBlocksAre) {
  Announce(Block(0, wire::kMaxBlockBytes + 1));
  ExpectLost("block 0 of 32769 bytes");
}

TEST_F(HostileBlocksTest, ANumberThatNoBlockHas) {
  Announce(Block(wire::kMaxBlocks, 1));
  ExpectLost("block 1024 of 1 bytes");
}

TEST_F(HostileBlocksTest, ABlockThatIsCutShort) {
  Item(ItemKind::kBlock, "short");
  ExpectLost("a malformed block");
}

TEST_F(HostileBlocksTest, ABlockAnnouncedAgainBeforeItIsAnswered) {
  peer_.Write(2, wire::RawItem(ItemKind::kBlock, 1, sequence_, wire::Encode(Block(7, 1))) +
                     wire::RawItem(ItemKind::kBlock, 1, sequence_ + 1, wire::Encode(Block(7, 1))));
  ExpectLost("block 7 announced twice");
}

TEST_F(HostileBlocksTest, MemoryThatIsNotThere) {
  wire::Block block = Block(0, 100);
  block.rkey += 1000;
  Announce(block);
  ExpectLost("remote access error");
}

// As many READs fail as are under way at a time, and there is one more to be made.
TEST_F(HostileBlocksTest, MemoryThatIsNotThereForSeveral) {
  std::string items;
  for (uint32_t number = 0; number < 4; ++number) {
    wire::Block block = Block(number, 100);
    block.rkey += 1000;
    items += wire::RawItem(ItemKind::kBlock, 1, sequence_ + number, wire::Encode(block));
  }
  peer_.Write(4, items);
  ExpectLost("remote access error");
}

TEST_F(HostileBlocksTest, ManySmallBlocksShareMemory) {
  for (uint32_t number = 0; number < 20; ++number) Announce(Block(number, 5));
  ExpectAlive();
  std::vector<stream::Buffer> buffers;
  ASSERT_TRUE(stream_->Read(1 << 20, buffers).ok());
  ASSERT_EQ(buffers.size(), 1u);
  EXPECT_EQ(buffers[0].size, 100u);
}

TEST_F(HostileBlocksTest, MemoryBeyondItsEnd) {
  wire::Block block = Block(0, 100);
  block.address = UINT64_MAX - 50;
  Announce(block);
  ExpectLost("remote access error");
}

TEST_F(HostileBlocksTest, ABlockAfterTheClose) {
  Item(ItemKind::kCloseWrite);
  Announce(Block(0, 1));
  ExpectLost("data after its end");
}

// One thread of the peer may abort while another writes. The peer lacks the block's memory until it is answered.
TEST_F(HostileBlocksTest, ABlockBehindAnAbortIsAnsweredUnread) {
  peer_.Write(2, wire::RawItem(ItemKind::kAbort, 1, sequence_, "enough") +
                     wire::RawItem(ItemKind::kBlock, 1, sequence_ + 1, wire::Encode(Block(5, 1))));
  ExpectAlive();
  EXPECT_THAT(peer_.Received(ItemKind::kPulled), testing::ElementsAre(wire::EncodePulled({5})));
}

TEST_F(HostileBlocksTest, ABlockForAStreamNeverGiven) {
  peer_.WriteItem(ItemKind::kBlock, 9, 0, wire::Encode(Block(0, 1)));
  ExpectLost("an item for stream 9");
}

TEST_F(HostileBlocksTest, ABlockOfTheLinkItself) {
  peer_.WriteItem(ItemKind::kBlock, 0, 0, wire::Encode(Block(0, 1)));
  ExpectLost("an item for stream 0");
}

TEST_F(HostileBlocksTest, AnAnswerToNothing) {
  Pulled({0});
  ExpectLost("block 0 pulled, which is not out");
}

TEST_F(HostileBlocksTest, AnAnswerWithoutNumbers) {
  peer_.WriteItem(ItemKind::kPulled, 0, 0);
  ExpectLost("0 bytes that are no numbers of blocks");
}

TEST_F(HostileBlocksTest, AnAnswerGivenTwice) {
  Item(ItemKind::kWindow, NumberPayload(1 << 20));
  ExpectAlive();
  ASSERT_EQ(Write(std::string(100'000, 'x')).value(), 100'000u);
  Pulled({0, 1, 2, 3});
  ExpectAlive();
  Pulled({2});
  ExpectLost("block 2 pulled, which is not out");
}

// Each is answered; without a limit a peer that never reads could have memory filled with it.
TEST_F(HostileBlocksTest, BlocksWithoutEndWhoseAnswersNobodyReads) {
  ExpectAlive();
  auto& link = static_cast<Link&>(*waiter_.source);
  const auto other = std::make_shared<RecordingPort>(link.ports().NewNumber());
  ASSERT_TRUE(link.ports().Add(other).ok());
  stream_ = nullptr;  // so that they are answered without being pulled
  Poll();
  uint32_t number = 0;
  const auto announce = [&](uint32_t blocks) {
    std::string items;
    for (uint32_t i = 0; i < blocks; ++i, ++number) {
      items += wire::RawItem(ItemKind::kBlock, 1, sequence_++, wire::Encode(Block(number % wire::kMaxBlocks, 1)));
    }
    peer_.Write(blocks, items);
    Poll();
  };
  for (int i = 0; i < 45; ++i) announce(1);  // takes the credits for answers
  ASSERT_FALSE(link.finished()) << other->lost;
  for (int i = 0; i < 11 && !link.finished(); ++i) announce(100);
  EXPECT_TRUE(link.finished());
  EXPECT_NE(other->lost.message().find("announced"), std::string::npos) << other->lost;
}

// A service whose ports take none has no memory to pull into, and needs none.
TEST(HostileBlockTest, ABlockOnALinkThatTakesNone) {
  fabric::Simulation simulation(20261121);
  const std::shared_ptr<Link> link = LinkOn(simulation.CreateDevice("victim"), {wire::kRingGranule});
  HostilePeer peer(simulation);
  const Link::Answer accepted = link->Accept(peer.Offer()).value();
  peer.Attach(accepted.ring, accepted.connection);
  peer.WriteItem(peer.Hello());
  const auto port = std::make_shared<RecordingPort>(link->ports().NewNumber());
  ASSERT_TRUE(link->ports().Add(port).ok());
  peer.WriteItem(ItemKind::kBlock, 1, 0, wire::Encode(wire::Block{0, 0, 1, 0}));
  Link* const links[] = {link.get()};
  PollAll(simulation, links);
  EXPECT_TRUE(link->finished());
  EXPECT_NE(port->lost.message().find("a link that takes none"), std::string::npos) << port->lost;
}

}  // namespace
}  // namespace skein::link
