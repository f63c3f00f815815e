// Shares: who may use how many lanes, by renewals and intervals on a clock of the test's.
#include "core/link/shares.h"

#include <poll.h>

#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace skein::link {
namespace {

class SharesTest : public testing::Test {
 protected:
  static constexpr absl::Duration kInterval = absl::Milliseconds(10);

  Shares::Sender Join(uint16_t lanes) {
    const size_t index = activated_.size();
    activated_.emplace_back();
    return shares_.Join(lanes, [this, index](uint16_t lane) { activated_[index].push_back(lane); });
  }
  void NextInterval() { now_ += kInterval; }

  absl::Time now_ = absl::UnixEpoch();
  Shares shares_{4, {.sharing = kInterval, .turn = kInterval}, [this] { return now_; }};
  std::vector<std::vector<uint16_t>> activated_;  // of each member
};

TEST_F(SharesTest, WhoIsAloneHasAllOfItsLanes) {
  const Shares::Sender only = Join(3);
  for (uint16_t lane = 0; lane < 3; ++lane) {
    EXPECT_TRUE(shares_.active(only, lane));
    EXPECT_TRUE(shares_.Renew(only, lane, 1));
  }
  EXPECT_FALSE(shares_.active(only, 3));
  EXPECT_FALSE(shares_.Renew(only, 3, 1)) << "there is none";
}

TEST_F(SharesTest, ANewcomerTakesItsShareFromWhoHadAll) {
  const Shares::Sender first = Join(4);
  const Shares::Sender second = Join(4);
  EXPECT_TRUE(shares_.active(second, 0));
  for (int interval = 0; interval < 3; ++interval) {
    NextInterval();
    shares_.Renew(first, 0, 1);  // ends the interval
    shares_.Renew(second, 0, 1);
  }
  int granted = 0;
  for (uint16_t lane = 0; lane < 4; ++lane) granted += shares_.Renew(first, lane, 1) ? 1 : 0;
  EXPECT_EQ(granted, 2);
}

TEST_F(SharesTest, LanesThatBecomeFreeAreGivenToWhoContends) {
  const Shares::Sender stays = Join(4);
  const Shares::Sender leaves = Join(4);
  for (int interval = 0; interval < 3; ++interval) {
    NextInterval();
    shares_.Renew(stays, 0, 1);
    shares_.Renew(leaves, 0, 1);
  }
  for (uint16_t lane = 0; lane < 4; ++lane) shares_.Renew(stays, lane, 1);  // learns which it has lost
  activated_[0].clear();
  shares_.Leave(leaves);
  NextInterval();
  EXPECT_TRUE(shares_.Renew(stays, 0, 2));
  EXPECT_FALSE(activated_[0].empty());
  for (const uint16_t lane : activated_[0]) EXPECT_TRUE(shares_.active(stays, lane));
}

TEST_F(SharesTest, WhoHasLeftIsToldNothing) {
  const Shares::Sender gone = Join(4);
  const Shares::Sender stays = Join(4);
  shares_.Leave(gone);
  EXPECT_FALSE(shares_.Renew(gone, 0, 1));
  for (int interval = 0; interval < 3; ++interval) {
    NextInterval();
    shares_.Renew(stays, 0, 5);
  }
  EXPECT_TRUE(activated_[0].empty());
}

// Five of whom four may be active; the fifth waits.
class SharesInTurnsTest : public SharesTest {
 protected:
  SharesInTurnsTest() {
    for (int i = 0; i < 5; ++i) members_.push_back(Join(1));
    EXPECT_FALSE(shares_.Renew(members_[4], 0, 1));
  }
  std::vector<Shares::Sender> members_;
};

TEST_F(SharesInTurnsTest, WhoAsksHandsOn) {
  EXPECT_FALSE(shares_.Renew(members_[0], 0, 1));
  EXPECT_EQ(activated_[4], std::vector<uint16_t>{0});
}

TEST_F(SharesInTurnsTest, TimeHandsOnWhenNobodyAsks) {
  NextInterval();
  EXPECT_TRUE(shares_.Poll());
  EXPECT_FALSE(shares_.Poll()) << "not before the next interval's end";
  EXPECT_TRUE(activated_[4].empty());
  NextInterval();
  EXPECT_FALSE(shares_.Arm()) << "there is work";
  EXPECT_TRUE(shares_.Poll());
  EXPECT_EQ(activated_[4], std::vector<uint16_t>{0});
  NextInterval();
  EXPECT_FALSE(shares_.Poll()) << "nobody waits";
}

TEST_F(SharesInTurnsTest, ARenewalAfterALongSilenceIsGranted) {
  const Shares::Sender late = Join(1);
  now_ += 100 * kInterval;
  EXPECT_TRUE(shares_.Renew(late, 0, 1)) << "after who waited before";
  EXPECT_EQ(activated_[4], std::vector<uint16_t>{0});
}

bool ReadableWithin(int fd, absl::Duration time) {
  pollfd event = {fd, POLLIN, 0};
  return poll(&event, 1, static_cast<int>(absl::ToInt64Milliseconds(time))) == 1;
}

TEST_F(SharesInTurnsTest, TheTimerRunsOnlyWhileSomebodyWaits) {
  EXPECT_TRUE(shares_.BeginToWatch().value());
  EXPECT_FALSE(shares_.BeginToWatch().value()) << "they are watched";
  EXPECT_TRUE(shares_.Arm());
  EXPECT_TRUE(ReadableWithin(shares_.fd(), absl::Seconds(10)));
  now_ += 3 * kInterval;
  EXPECT_TRUE(shares_.Poll());
  EXPECT_EQ(activated_[4], std::vector<uint16_t>{0});
  EXPECT_TRUE(shares_.Arm());
  EXPECT_FALSE(ReadableWithin(shares_.fd(), 2 * kInterval)) << "an idle process sleeps";

  for (const int busy : {1, 2, 3}) EXPECT_TRUE(shares_.Renew(members_[busy], 0, 1));
  EXPECT_FALSE(shares_.Renew(members_[0], 0, 1));
  EXPECT_TRUE(ReadableWithin(shares_.fd(), absl::Seconds(10))) << "also for who slept already";
}

TEST_F(SharesInTurnsTest, WhoWatchesHearsOfTheEnd) {
  EXPECT_TRUE(shares_.BeginToWatch().value());
  EXPECT_FALSE(shares_.finished());
  shares_.Close();
  for (const Shares::Sender member : members_) {
    EXPECT_FALSE(shares_.finished()) << "it may wait for its turn";
    shares_.Leave(member);
  }
  EXPECT_TRUE(shares_.finished());
  EXPECT_TRUE(ReadableWithin(shares_.fd(), absl::Seconds(10)));
}

TEST_F(SharesTest, WithoutTurnsThereIsNothingToWatch) {
  for (int i = 0; i < 4; ++i) Join(1);
  EXPECT_FALSE(shares_.BeginToWatch().value());
}

}  // namespace
}  // namespace skein::link
