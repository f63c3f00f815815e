// Shares: which peers may send, by renewals and intervals on a clock of the test's.
#include "core/link/shares.h"

#include <poll.h>

#include <vector>

#include "gtest/gtest.h"
#include "tests/support/descriptor_limit.h"

namespace skein::link {
namespace {

class SharesTest : public testing::Test {
 protected:
  static constexpr absl::Duration kInterval = absl::Milliseconds(10);

  Shares::Sender Join() {
    const size_t index = activated_.size();
    activated_.push_back(0);
    return shares_.Join([this, index] { ++activated_[index]; }).value();
  }
  void NextInterval() { now_ += kInterval; }

  absl::Time now_ = absl::UnixEpoch();
  Shares shares_{4, kInterval, [this] { return now_; }};
  std::vector<int> activated_;  // of each member: how often it was told
};

TEST_F(SharesTest, NobodyWaitsWhileThereIsAPlaceForEach) {
  std::vector<Shares::Sender> members;
  for (int i = 0; i < 4; ++i) members.push_back(Join());
  for (int interval = 0; interval < 3; ++interval) {
    for (const Shares::Sender member : members) {
      EXPECT_TRUE(shares_.Renew(member));
      EXPECT_TRUE(shares_.active(member));
    }
    NextInterval();
  }
  for (const int told : activated_) EXPECT_EQ(told, 0);
}

TEST_F(SharesTest, WhoHasLeftIsToldNothing) {
  std::vector<Shares::Sender> members;
  for (int i = 0; i < 5; ++i) members.push_back(Join());
  EXPECT_FALSE(shares_.Renew(members[4]));
  shares_.Leave(members[4]);
  EXPECT_FALSE(shares_.Renew(members[4]));
  EXPECT_FALSE(shares_.active(members[4]));
  for (int interval = 0; interval < 3; ++interval) {
    NextInterval();
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(shares_.Renew(members[i]));
  }
  EXPECT_EQ(activated_[4], 0);
}

// Five of whom four may be active; the fifth waits.
class SharesInTurnsTest : public SharesTest {
 protected:
  SharesInTurnsTest() {
    for (int i = 0; i < 5; ++i) members_.push_back(Join());
    EXPECT_FALSE(shares_.Renew(members_[4]));
  }
  std::vector<Shares::Sender> members_;
};

TEST_F(SharesInTurnsTest, WhoAsksHandsOn) {
  EXPECT_FALSE(shares_.Renew(members_[0]));
  EXPECT_EQ(activated_[4], 1);
}

TEST_F(SharesInTurnsTest, TimeHandsOnWhenNobodyAsks) {
  NextInterval();
  EXPECT_TRUE(shares_.Poll());
  EXPECT_FALSE(shares_.Poll()) << "not before the next interval's end";
  EXPECT_EQ(activated_[4], 0);
  NextInterval();
  EXPECT_FALSE(shares_.Arm()) << "there is work";
  EXPECT_TRUE(shares_.Poll());
  EXPECT_EQ(activated_[4], 1);
  NextInterval();
  EXPECT_FALSE(shares_.Poll()) << "nobody waits";
}

TEST_F(SharesInTurnsTest, ARenewalAfterALongSilenceIsGranted) {
  const Shares::Sender late = Join();
  now_ += 100 * kInterval;
  EXPECT_TRUE(shares_.Renew(late)) << "after who waited before";
  EXPECT_EQ(activated_[4], 1);
}

bool ReadableWithin(int fd, absl::Duration time) {
  pollfd event = {fd, POLLIN, 0};
  return poll(&event, 1, static_cast<int>(absl::ToInt64Milliseconds(time))) == 1;
}

TEST_F(SharesInTurnsTest, TheTimerRunsOnlyWhileSomebodyWaits) {
  EXPECT_TRUE(shares_.BeginToWatch());
  EXPECT_FALSE(shares_.BeginToWatch()) << "they are watched";
  EXPECT_TRUE(shares_.Arm());
  EXPECT_TRUE(ReadableWithin(shares_.fd(), absl::Seconds(10)));
  now_ += 3 * kInterval;
  EXPECT_TRUE(shares_.Poll());
  EXPECT_EQ(activated_[4], 1);
  EXPECT_TRUE(shares_.Arm());
  EXPECT_FALSE(ReadableWithin(shares_.fd(), 2 * kInterval)) << "an idle process sleeps";

  for (const int busy : {1, 2, 3}) EXPECT_TRUE(shares_.Renew(members_[busy]));
  EXPECT_FALSE(shares_.Renew(members_[0]));
  EXPECT_TRUE(ReadableWithin(shares_.fd(), absl::Seconds(10))) << "also for who slept already";
}

TEST_F(SharesInTurnsTest, WhoWatchesHearsOfTheEnd) {
  EXPECT_TRUE(shares_.BeginToWatch());
  EXPECT_FALSE(shares_.finished());
  shares_.Close();
  for (const Shares::Sender member : members_) {
    EXPECT_FALSE(shares_.finished()) << "it may wait for its turn";
    shares_.Leave(member);
  }
  EXPECT_TRUE(shares_.finished());
  EXPECT_TRUE(ReadableWithin(shares_.fd(), absl::Seconds(10)));
}

TEST_F(SharesTest, WithoutADescriptorForTheTimerNobodysTurnChanges) {
  if (kSanitizerNeedsDescriptors) GTEST_SKIP() << "the sanitizer needs descriptors of its own";
  std::vector<Shares::Sender> members;
  for (int i = 0; i < 4; ++i) members.push_back(Join());
  for (int interval = 0; interval < 3; ++interval) NextInterval();
  EXPECT_TRUE(shares_.Renew(members[0]));
  {
    const DescriptorLimit none(0);
    EXPECT_FALSE(shares_.Join([] {}).ok());
  }
  for (const Shares::Sender member : members) EXPECT_TRUE(shares_.Renew(member)) << "one would wait, without a timer";
  EXPECT_FALSE(shares_.BeginToWatch());
}

TEST_F(SharesTest, WithoutTurnsThereIsNothingToWatch) {
  for (int i = 0; i < 4; ++i) Join();
  EXPECT_FALSE(shares_.BeginToWatch());
}

}  // namespace
}  // namespace skein::link
