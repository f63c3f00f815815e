#include "core/service/trunk_silence.h"

#include "gtest/gtest.h"

namespace skein::service {
namespace {

using Verdict = TrunkSilence::Verdict;

constexpr absl::Duration kPatience = absl::Seconds(4);
const absl::Time kStart = absl::UnixEpoch();

TEST(TrunkSilence, NobodyIsAskedWhileNothingIsSaid) {
  TrunkSilence silence(kPatience);
  EXPECT_TRUE(silence.quiet());
  EXPECT_FALSE(silence.noted());
  EXPECT_EQ(silence.Look(kStart + absl::Hours(1)), Verdict::kNotYet);
}

TEST(TrunkSilence, AnAnswerEndsTheQuestion) {
  TrunkSilence silence(kPatience);
  silence.Noted();
  silence.Asked(kStart);
  EXPECT_FALSE(silence.noted()) << "what was said before it, the question covers";
  silence.Heard();
  EXPECT_EQ(silence.Look(kStart + absl::Seconds(1)), Verdict::kNotYet);
  EXPECT_EQ(silence.Look(silence.look_at()), Verdict::kIsThere);
  EXPECT_TRUE(silence.quiet());
}

// One that was itself stopped for as long finds the answer before its second look.
TEST(TrunkSilence, OneLookWithoutAnAnswerProvesNothing) {
  TrunkSilence silence(kPatience);
  silence.Asked(kStart);
  const absl::Time late = kStart + absl::Hours(1);
  EXPECT_EQ(silence.Look(late), Verdict::kNotYet);
  silence.Heard();
  EXPECT_EQ(silence.Look(silence.look_at()), Verdict::kIsThere);
}

TEST(TrunkSilence, WithoutAnAnswerItIsSilentAfterAllOfThePatience) {
  TrunkSilence silence(kPatience);
  silence.Asked(kStart);
  EXPECT_EQ(silence.Look(silence.look_at()), Verdict::kNotYet);
  EXPECT_EQ(silence.look_at(), kStart + kPatience);
  EXPECT_EQ(silence.Look(silence.look_at()), Verdict::kSilent);
}

TEST(TrunkSilence, AGreetingIsAwaitedForAllOfThePatience) {
  TrunkSilence silence(kPatience);
  silence.AwaitGreeting(kStart);
  EXPECT_EQ(silence.Look(kStart + kPatience - absl::Milliseconds(1)), Verdict::kNotYet);
  EXPECT_EQ(silence.Look(kStart + kPatience), Verdict::kSilent);
}

}  // namespace
}  // namespace skein::service
