#include "core/replicate/frame.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/member_log.h"

namespace skein::replicate {
namespace {

absl::StatusOr<Frame> Decoded(const std::string& bytes) { return Decode(BytesOf(bytes)); }

TEST(FrameTest, EachKindIsDecodedAsItWasEncoded) {
  const Frame frames[] = {Hello{7, 12, 3, ScheduleKind::kChain}, Begin{1, uint64_t{5} << 30, 1 << 20}, Block{2, 65535},
                          Have{3, 11}, Failure{4, absl::StatusCode::kAborted, 256}};
  for (const Frame& frame : frames) {
    const std::string bytes = Encode(frame);
    EXPECT_EQ(bytes.size(), kFrameBytes);
    EXPECT_EQ(Decoded(bytes).value(), frame);
  }
}

TEST(FrameTest, FieldsOutOfBoundsAreDataLoss) {
  const Frame frames[] = {Hello{7, 1, 0},
                          Hello{7, kMaxMembers + 1, 0},
                          Hello{7, 4, 4},
                          Hello{7, 4, 1, static_cast<ScheduleKind>(9)},
                          Begin{0, 10, 10},
                          Begin{1, 10, 0},
                          Begin{1, uint64_t{10} * kMaxBlocks + 1, 10},
                          Block{0, 1},
                          Block{1, kMaxBlocks},
                          Have{0, 1},
                          Have{1, 0},
                          Have{1, kMaxMembers},
                          Failure{kMaxMembers, absl::StatusCode::kAborted, 0},
                          Failure{1, absl::StatusCode::kOk, 0},
                          Failure{1, static_cast<absl::StatusCode>(17), 0},
                          Failure{1, absl::StatusCode::kAborted, kMaxFailureText + 1}};
  for (size_t i = 0; i < std::size(frames); ++i) {
    EXPECT_TRUE(absl::IsDataLoss(Decoded(Encode(frames[i])).status())) << i;
  }
}

TEST(FrameTest, OtherKindsSizesAndVersionsAreDataLoss) {
  std::string bytes = Encode(Block{1, 1});
  EXPECT_TRUE(absl::IsDataLoss(Decoded(bytes + "x").status()));
  EXPECT_TRUE(absl::IsDataLoss(Decoded(bytes.substr(1)).status()));
  bytes[0] = 6;
  EXPECT_TRUE(absl::IsDataLoss(Decoded(bytes).status()));
  bytes = Encode(Hello{7, 4, 1});
  ++bytes[2];
  EXPECT_TRUE(absl::IsDataLoss(Decoded(bytes).status()));
}

TEST(FrameTest, AFieldThatAKindDoesNotHaveIsZero) {
  for (const size_t offset : {1U, 2U, 4U, 12U, 24U}) {
    std::string bytes = Encode(Block{1, 1});
    bytes[offset] = 1;
    EXPECT_TRUE(absl::IsDataLoss(Decoded(bytes).status())) << offset;
  }
}

TEST(FrameTest, AFailureBringsItsTextCutAndPrintable) {
  const std::string bytes = EncodeFailure(3, absl::InternalError(std::string(1000, '\n')));
  ASSERT_EQ(bytes.size(), kFrameBytes + kMaxFailureText);
  const auto failure = std::get<Failure>(Decoded(bytes.substr(0, kFrameBytes)).value());
  EXPECT_EQ(StatusOf(failure, bytes.substr(kFrameBytes)), absl::InternalError(std::string(kMaxFailureText, '?')));
}

TEST(BeginTest, BlocksCoverTheWhole) {
  const Begin begin{1, 10'001, 5000};
  EXPECT_EQ(begin.blocks(), 3U);
  EXPECT_EQ(begin.OffsetOf(2), 10'000U);
  EXPECT_EQ(begin.SizeOf(1), 5000U);
  EXPECT_EQ(begin.SizeOf(2), 1U);
  EXPECT_EQ((Begin{1, 0, 5000}).blocks(), 1U);
  EXPECT_EQ((Begin{1, 0, 5000}).SizeOf(0), 0U);
  EXPECT_EQ((Begin{1, 10'000, 5000}).blocks(), 2U);
}

}  // namespace
}  // namespace skein::replicate
