#include "core/base/fallback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace skein {
namespace {

constexpr int kLastCode = static_cast<int>(FallbackCode::kNoOffer);

TEST(FallbackTest, EveryCodeHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int code = 0; code <= kLastCode; ++code) {
    std::string name = FallbackCodeName(static_cast<FallbackCode>(code));
    EXPECT_THAT(name, testing::Not(testing::HasSubstr("unknown reason"))) << code;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_THAT(FallbackCodeName(static_cast<FallbackCode>(kLastCode + 1)), testing::HasSubstr("unknown reason"));
}

TEST(FallbackTest, CodeOfANewerPeerHasAName) {
  EXPECT_EQ(FallbackCodeName(static_cast<FallbackCode>(200)), "unknown reason 200");
}

TEST(FallbackTest, DetailIsShownOnlyWhenThereIsOne) {
  EXPECT_EQ(ToString(Fallback{FallbackCode::kDifferentUser, ""}), "different user");
  EXPECT_EQ(ToString(Fallback{FallbackCode::kDifferentUser, "0 and 1000"}), "different user (0 and 1000)");
}

// Towards another host every reason began with shared memory's, which cannot be used there.
TEST(FallbackTest, OfSeveralReasonsTheLastGivesTheCodeAndAllAreNamedInOrder) {
  const Fallback remote{FallbackCode::kRemotePeer, ""};
  const Fallback no_rdma{FallbackCode::kNoRdma, "no device"};
  const Fallback joined = Join({remote, no_rdma});
  EXPECT_EQ(joined.code, FallbackCode::kNoRdma);
  EXPECT_EQ(ToString(joined), "no RDMA here (peer's address is not of this host; no device)");
  EXPECT_EQ(ToString(Join({no_rdma, remote, Fallback{FallbackCode::kSettling, ""}})),
            "RDMA to the peer lately failed (no RDMA here (no device); peer's address is not of this host)");
}

TEST(FallbackTest, AReasonThatIsNoneIsNotJoined) {
  EXPECT_EQ(Join({}).code, FallbackCode::kNone);
  EXPECT_EQ(Join({Fallback{}, Fallback{}}).code, FallbackCode::kNone);
  EXPECT_EQ(ToString(Join({Fallback{}, Fallback{FallbackCode::kNoRdma, "no device"}, Fallback{}})),
            "no RDMA here (no device)");
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
