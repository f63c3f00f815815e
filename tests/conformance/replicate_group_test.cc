// What core/replicate/group.h promises, over every kind of path.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/replicate/group.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/paths_under_test.h"
#include "tests/conformance/replicate_members.h"

namespace skein::replicate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GroupConformance : public ::testing::TestWithParam<PathsFactory> {
 protected:
  GroupOptions OptionsOf(uint32_t members, ScheduleKind schedule = ScheduleKind::kBinomialPipeline) const {
    return {.id = 77, .members = members, .schedule = schedule, .block_bytes = 5000};
  }
  static bool AllReceived(Members& members, const std::string& text) {
    for (uint32_t member = 1; member < members.size(); ++member) {
      if (members.log(member).received != std::vector{text}) return false;
    }
    return true;
  }

  const std::unique_ptr<PathsUnderTest> paths_ = GetParam().make();
};

TEST_P(GroupConformance, EachReceiverGetsTheWholeByEverySchedule) {
  for (const ScheduleKind schedule : kAllSchedules) {
    for (const uint32_t size : {2U, 3U, 5U, 8U}) {
      SCOPED_TRACE(absl::StrCat(NameOf(schedule), ", ", size, " members"));
      Members members(*paths_, OptionsOf(size, schedule));
      const std::string text = TextToWrite(5000 * 7 + 123);
      ASSERT_EQ(members.sender().Write(BytesOf(text)).value(), 1U);
      ASSERT_TRUE(
          members.RunUntil([&] { return !members.log(0).have.empty() && members.log(0).have.back() == size - 1; }));
      EXPECT_TRUE(AllReceived(members, text));
      for (uint32_t member = 0; member < size; ++member) {
        EXPECT_EQ(members.log(member).released, 1) << member;
        EXPECT_THAT(members.log(member).failures, IsEmpty()) << member;
      }
    }
  }
}

TEST_P(GroupConformance, SizesAroundABlocksBoundArrive) {
  Members members(*paths_, OptionsOf(6));
  uint64_t writes = 0;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4999}, size_t{5000}, size_t{5001}, size_t{10000}}) {
    const std::string text = TextToWrite(bytes, static_cast<uint32_t>(bytes));
    ASSERT_EQ(members.sender().Write(BytesOf(text)).value(), ++writes);
    ASSERT_TRUE(members.RunUntil([&] { return members.log(0).have.size() > 0 && members.log(0).have.back() == 5; }));
    for (uint32_t member = 1; member < 6; ++member) EXPECT_TRUE(members.log(member).received.back() == text) << bytes;
    members.log(0).have.clear();
  }
}

TEST_P(GroupConformance, BlocksLargerThanAnyWindowArrive) {
  GroupOptions options = OptionsOf(4);
  options.block_bytes = 3 << 20;
  Members members(*paths_, options);
  const std::string text = TextToWrite(10 << 20);
  ASSERT_TRUE(members.sender().Write(BytesOf(text)).ok());
  ASSERT_TRUE(members.RunUntil([&] { return !members.log(0).have.empty() && members.log(0).have.back() == 3; }));
  EXPECT_TRUE(AllReceived(members, text));
}

TEST_P(GroupConformance, TheSenderHearsHowManyHaveIt) {
  Members members(*paths_, OptionsOf(5));
  members.log(3).acknowledges = false;
  members.log(4).acknowledges = false;
  const std::string text = TextToWrite(20000);
  ASSERT_TRUE(members.sender().Write(BytesOf(text)).ok());
  members.Run();
  EXPECT_TRUE(AllReceived(members, text));
  EXPECT_EQ(members.log(0).have.back(), 2U);
  EXPECT_EQ(members.log(0).released, 1);
  EXPECT_TRUE(absl::IsResourceExhausted(members.sender().Write(BytesOf(text)).status()));
  members.at(3).Acknowledge(1);
  members.at(3).Acknowledge(1);
  members.Run();
  EXPECT_EQ(members.log(0).have.back(), 3U);
  members.at(4).Acknowledge(1);
  members.Run();
  EXPECT_EQ(members.log(0).have.back(), 4U);
  EXPECT_EQ(members.sender().Write(BytesOf(text)).value(), 2U);
  members.Run();
}

TEST_P(GroupConformance, ARelayThatDiesFailsTheWriteAtAllOthers) {
  for (const ScheduleKind schedule : kAllSchedules) {
    for (uint32_t dead = 0; dead < 6; ++dead) {
      SCOPED_TRACE(absl::StrCat(NameOf(schedule), ", member ", dead));
      Members members(*paths_, OptionsOf(6, schedule));
      members.Run();
      // Nobody is done, for all acknowledgements are missing.
      for (uint32_t member = 1; member < 6; ++member) members.log(member).acknowledges = false;
      const std::string text = TextToWrite(50000);
      ASSERT_TRUE(members.sender().Write(BytesOf(text)).ok());
      members.Kill(dead);
      members.Run();
      for (uint32_t member = 0; member < 6; ++member) {
        if (member == dead) continue;
        ASSERT_EQ(members.log(member).failures.size(), 1U) << member;
        EXPECT_TRUE(absl::IsUnavailable(members.log(member).failures[0])) << members.log(member).failures[0];
        EXPECT_THAT(std::string(members.log(member).failures[0].message()), HasSubstr(absl::StrCat("member ", dead)));
        EXPECT_THAT(members.log(member).have, IsEmpty());
      }
      if (dead != 0) {
        EXPECT_EQ(members.sender().Write(BytesOf(text)).status(), members.log(0).failures[0]);
      }
    }
  }
}

TEST_P(GroupConformance, AMemberThatGivesUpIsHeardByAll) {
  Members members(*paths_, OptionsOf(7));
  for (uint32_t member = 1; member < 7; ++member) members.log(member).acknowledges = false;
  const std::string text = TextToWrite(50000);
  ASSERT_TRUE(members.sender().Write(BytesOf(text)).ok());
  members.at(5).Fail(absl::DeadlineExceededError("it took too long"));
  members.Run();
  for (uint32_t member = 0; member < 7; ++member) {
    EXPECT_THAT(members.log(member).failures, ElementsAre(absl::DeadlineExceededError("member 5: it took too long")));
  }
}

TEST_P(GroupConformance, AReceiverMayDeclineAWrite) {
  Members members(*paths_, OptionsOf(4));
  members.log(2).declines = absl::ResourceExhaustedError("no memory");
  const std::string text = TextToWrite(50000);
  ASSERT_TRUE(members.sender().Write(BytesOf(text)).ok());
  members.Run();
  for (uint32_t member = 0; member < 4; ++member) {
    EXPECT_THAT(members.log(member).failures, ElementsAre(absl::ResourceExhaustedError("member 2: no memory")));
  }
}

TEST_P(GroupConformance, AReceiverTakesNoMoreThanItSays) {
  GroupOptions options = OptionsOf(3);
  options.max_bytes = 9999;
  Members members(*paths_, options);
  const std::string text = TextToWrite(10000);
  ASSERT_TRUE(members.sender().Write(BytesOf(text)).ok());
  members.Run();
  EXPECT_TRUE(absl::IsResourceExhausted(members.log(0).failures.at(0))) << members.log(0).failures[0];
  EXPECT_EQ(members.log(1).incoming + members.log(2).incoming, 0);
}

TEST_P(GroupConformance, AnIdleGroupHearsThatAMemberHasLeft) {
  Members members(*paths_, OptionsOf(4));
  members.Run();
  members.Kill(3);
  members.Run();
  for (uint32_t member = 0; member < 3; ++member) EXPECT_EQ(members.log(member).failures.size(), 1U) << member;
}

TEST_P(GroupConformance, MembersOfAnotherGroupAreRefused) {
  auto [mine, theirs] = paths_->MakePair();
  std::vector<MemberPath> here;
  here.push_back({1, std::move(mine)});
  std::vector<MemberPath> there;
  there.push_back({0, std::move(theirs)});
  auto log = std::make_shared<MemberLog>();
  GroupOptions options = OptionsOf(2);
  const auto one = CreateGroup(options, std::move(here), log).value();
  options.id = 78;
  options.self = 1;
  const auto other = CreateGroup(options, std::move(there), std::make_shared<MemberLog>()).value();
  while (paths_->Pump()) {
  }
  ASSERT_EQ(log->failures.size(), 1U);
  EXPECT_TRUE(absl::IsFailedPrecondition(log->failures[0])) << log->failures[0];
}

INSTANTIATE_TEST_SUITE_P(All, GroupConformance, EveryPath(), PathsName);

}  // namespace
}  // namespace skein::replicate
