#include "core/base/fallback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/options.h"

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

TEST(FallbackTest, EveryReasonSaysWhatCanBeDone) {
  for (const FallbackReason& reason : FallbackReasons().subspan(1)) {
    EXPECT_NE(reason.meaning, "") << reason.name;
    EXPECT_NE(reason.mend, "") << reason.name;
  }
}

// A mend that names an option which has been renamed would lead nowhere.
TEST(FallbackTest, TheMendsNameOptionsThatThereAre) {
  const std::string options = OptionsMarkdown();
  for (const FallbackReason& reason : FallbackReasons()) {
    for (absl::string_view word : absl::StrSplit(reason.mend, '`')) {
      if (!absl::ConsumePrefix(&word, "skein.")) continue;
      EXPECT_THAT(options, testing::HasSubstr("| `skein." + std::string(word) + "` |")) << reason.name;
    }
  }
}

TEST(FallbackTest, ReferencePageIsInStep) {
  std::ifstream file(SKEIN_DOCS "/reasons.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), ReasonsMarkdown()) << "run skein_write_pages docs";
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
