#include "core/base/fallback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace skein {
namespace {

constexpr int kLastCode = static_cast<int>(FallbackCode::kRemotePeer);

TEST(FallbackTest, EveryCodeHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int code = 0; code <= kLastCode; ++code) {
    std::string name = FallbackCodeName(static_cast<FallbackCode>(code));
    EXPECT_THAT(name, testing::Not(testing::HasSubstr("unknown reason"))) << code;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

TEST(FallbackTest, CodeOfANewerPeerHasAName) {
  EXPECT_EQ(FallbackCodeName(static_cast<FallbackCode>(200)), "unknown reason 200");
}

TEST(FallbackTest, DetailIsShownOnlyWhenThereIsOne) {
  EXPECT_EQ(ToString(Fallback{FallbackCode::kDifferentUser, ""}), "different user");
  EXPECT_EQ(ToString(Fallback{FallbackCode::kDifferentUser, "0 and 1000"}), "different user (0 and 1000)");
}

TEST(FallbackTest, EveryCodeSurvivesTheTripThroughAStatus) {
  for (int code = 0; code <= kLastCode; ++code) {
    absl::Status status = FallbackError(static_cast<FallbackCode>(code), "detail");
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    Fallback fallback = FallbackOf(status);
    EXPECT_EQ(static_cast<int>(fallback.code), code);
    EXPECT_EQ(fallback.detail, "detail");
  }
}

TEST(FallbackTest, StatusWithoutAReasonIsAMatterOfResources) {
  Fallback fallback = FallbackOf(absl::ResourceExhaustedError("RLIMIT_NOFILE"));
  EXPECT_EQ(fallback.code, FallbackCode::kResources);
  EXPECT_EQ(fallback.detail, "RLIMIT_NOFILE");
}

}  // namespace
}  // namespace skein
