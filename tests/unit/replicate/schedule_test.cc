#include "core/replicate/schedule.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::replicate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<uint32_t> Sizes() {
  std::vector<uint32_t> sizes;
  for (uint32_t members = 2; members <= 36; ++members) sizes.push_back(members);
  for (const uint32_t members : {63U, 64U, 65U, 96U, 127U, 128U, 200U}) sizes.push_back(members);
  return sizes;
}

std::vector<uint32_t> Blocks() { return {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 40}; }

class ScheduleTest : public ::testing::TestWithParam<ScheduleKind> {
 protected:
  const Schedule& schedule() const { return *FindSchedule(GetParam()); }
  std::vector<Part> PartsOf(Shape shape) const {
    std::vector<Part> parts;
    for (uint32_t member = 0; member < shape.members; ++member) parts.push_back(schedule().PartOf(shape, member));
    return parts;
  }
};

bool OneAtAStep(const std::vector<Transfer>& transfers) {
  return std::adjacent_find(transfers.begin(), transfers.end(),
                            [](const Transfer& a, const Transfer& b) { return a.step >= b.step; }) == transfers.end();
}

// The step after which a member has each block; 0 for what it has from the beginning.
std::vector<uint32_t> HadFrom(const Part& part, Shape shape, bool sender) {
  std::vector<uint32_t> had(shape.blocks, sender ? 0 : ~0U);
  for (const Transfer& receive : part.receives) had[receive.block] = receive.step + 1;
  return had;
}

void CheckPart(const std::vector<Part>& parts, Shape shape, uint32_t member) {
  const Part& part = parts[member];
  ASSERT_TRUE(OneAtAStep(part.sends) && OneAtAStep(part.receives)) << "member " << member;
  ASSERT_EQ(part.receives.size(), member == 0 ? 0 : shape.blocks) << "member " << member;
  const std::vector<uint32_t> had = HadFrom(part, shape, member == 0);
  for (const uint32_t from : had) ASSERT_NE(from, ~0U) << "member " << member << " lacks a block";
  for (const Transfer& send : part.sends) {
    ASSERT_LE(had[send.block], send.step) << "member " << member << " sends what it has not got";
    const auto received = parts[send.peer].ReceiveAt(send.step);
    ASSERT_TRUE(received && received->peer == member && received->block == send.block) << "member " << member;
  }
}

TEST_P(ScheduleTest, EachReceiverGetsEachBlockOnceFromWhoHasIt) {
  for (const uint32_t members : Sizes()) {
    for (const uint32_t blocks : Blocks()) {
      const Shape shape{members, blocks};
      SCOPED_TRACE(std::to_string(members) + " members, " + std::to_string(blocks) + " blocks");
      const std::vector<Part> parts = PartsOf(shape);
      size_t sends = 0;
      for (uint32_t member = 0; member < members; ++member) {
        ASSERT_NO_FATAL_FAILURE(CheckPart(parts, shape, member));
        sends += parts[member].sends.size();
      }
      ASSERT_EQ(sends, size_t{members - 1} * blocks);
    }
  }
}

TEST_P(ScheduleTest, TheLastTransferIsAtTheLastStep) {
  for (const uint32_t members : Sizes()) {
    for (const uint32_t blocks : Blocks()) {
      uint32_t steps = 0;
      for (const Part& part : PartsOf({members, blocks})) {
        if (!part.receives.empty()) steps = std::max(steps, part.receives.back().step + 1);
      }
      ASSERT_EQ(steps, schedule().Steps({members, blocks})) << members << " members, " << blocks << " blocks";
    }
  }
}

TEST_P(ScheduleTest, MembersExchangeBlocksWithTheirPeersOnly) {
  for (const uint32_t members : Sizes()) {
    for (uint32_t member = 0; member < members; ++member) {
      const std::vector<uint32_t> peers = schedule().PeersOf(members, member);
      ASSERT_TRUE(std::is_sorted(peers.begin(), peers.end()));
      const Part part = schedule().PartOf({members, 17}, member);
      for (const auto& transfers : {part.sends, part.receives}) {
        for (const Transfer& transfer : transfers) {
          ASSERT_TRUE(std::binary_search(peers.begin(), peers.end(), transfer.peer)) << members << " " << member;
        }
      }
      for (const uint32_t peer : peers) {
        const std::vector<uint32_t> theirs = schedule().PeersOf(members, peer);
        ASSERT_TRUE(std::binary_search(theirs.begin(), theirs.end(), member)) << members << " " << member;
      }
    }
  }
}

TEST_P(ScheduleTest, ParentsArePeersAndLeadToTheSender) {
  for (const uint32_t members : Sizes()) {
    for (uint32_t member = 1; member < members; ++member) {
      uint32_t at = member;
      for (uint32_t hops = 0; at != 0 && hops < members; ++hops) {
        const std::vector<uint32_t> peers = schedule().PeersOf(members, at);
        at = schedule().ParentOf(members, at);
        ASSERT_TRUE(std::binary_search(peers.begin(), peers.end(), at)) << members << " " << member;
      }
      ASSERT_EQ(at, 0U) << members << " " << member;
    }
  }
}

TEST_P(ScheduleTest, ASenderAloneHasNothingToDo) {
  const Part part = schedule().PartOf({1, 5}, 0);
  EXPECT_THAT(part.sends, IsEmpty());
  EXPECT_THAT(part.receives, IsEmpty());
  EXPECT_THAT(schedule().PeersOf(1, 0), IsEmpty());
  EXPECT_EQ(schedule().Steps({1, 5}), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, ScheduleTest, ::testing::ValuesIn(kAllSchedules),
                         [](const auto& info) { return std::string(NameOf(info.param)); });

TEST(ScheduleStepsTest, AreAsTheFormulasSay) {
  for (const uint32_t members : Sizes()) {
    const auto rounds = static_cast<uint32_t>(std::bit_width(members - 1));  // log2, rounded up
    for (const uint32_t blocks : Blocks()) {
      const Shape shape{members, blocks};
      EXPECT_EQ(FindSchedule(ScheduleKind::kSequential)->Steps(shape), (members - 1) * blocks);
      EXPECT_EQ(FindSchedule(ScheduleKind::kChain)->Steps(shape), members - 2 + blocks);
      EXPECT_EQ(FindSchedule(ScheduleKind::kBinomialTree)->Steps(shape), rounds * blocks);
      EXPECT_EQ(FindSchedule(ScheduleKind::kBinomialPipeline)->Steps(shape), rounds + blocks - 1);
    }
  }
}

TEST(BinomialPipelineTest, EightMembersFollowTheHypercube) {
  const Part sender = BinomialPipeline().PartOf({8, 2}, 0);
  EXPECT_THAT(sender.sends, ElementsAre(Transfer{0, 1, 0}, Transfer{1, 2, 1}, Transfer{2, 4, 1}, Transfer{3, 1, 1}));
  // It has bit 0 from block 0 and passes that on along the dimensions 1 and 2.
  const Part first = BinomialPipeline().PartOf({8, 2}, 1);
  EXPECT_THAT(first.sends, ElementsAre(Transfer{1, 3, 0}, Transfer{2, 5, 0}));
  EXPECT_THAT(first.receives, ElementsAre(Transfer{0, 0, 0}, Transfer{3, 0, 1}));
}

TEST(BinomialPipelineTest, ThreeMembersTakeOneStepMoreThanTwo) {
  EXPECT_EQ(BinomialPipeline().Steps({2, 10}), 10U);
  EXPECT_EQ(BinomialPipeline().Steps({3, 10}), 11U);
  EXPECT_EQ(BinomialPipeline().Steps({4, 10}), 11U);
}

TEST(BinomialPipelineTest, ThePeersOfAMemberAreLogarithmicallyMany) {
  EXPECT_EQ(BinomialPipeline().PeersOf(512, 17).size(), 9U);
  EXPECT_LE(BinomialPipeline().PeersOf(1023, 17).size(), 2 * 9U + 1);
}

TEST(FindScheduleTest, ANumberOfNoneIsNull) {
  EXPECT_EQ(FindSchedule(static_cast<ScheduleKind>(0)), nullptr);
  EXPECT_EQ(FindSchedule(static_cast<ScheduleKind>(5)), nullptr);
}

}  // namespace
}  // namespace skein::replicate
