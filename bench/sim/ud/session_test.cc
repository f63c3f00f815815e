#include "bench/sim/ud/session.h"

#include <vector>

#include "gtest/gtest.h"

namespace skein::bench {
namespace {

using absl::Microseconds;

class SessionTest : public ::testing::Test, protected UdSession::Port {
 protected:
  SessionTest() {
    costs_.slots = 2;
    costs_.credits = 3;
  }
  absl::Time time() const override { return now_; }
  void Spend(absl::Duration work) override { spent_ += work; }
  void Send(const Datagram& datagram) override { sent_.push_back(datagram); }

  UdSession Of(size_t request_bytes, size_t response_bytes = 0) {
    return {*this, costs_, {request_bytes, response_bytes, 10}, 1e9};
  }
  // The oldest datagram's answer, after so long.
  bool Answer(UdSession& session, absl::Duration later = Microseconds(5)) {
    now_ += later;
    const Datagram answer = sent_.front();
    sent_.erase(sent_.begin());
    return session.OnAnswer(answer).has_value();
  }

  UdCosts costs_;
  absl::Time now_ = absl::UnixEpoch();
  absl::Duration spent_;
  std::vector<Datagram> sent_;
};

TEST_F(SessionTest, ARequestIsOverWithItsAnswer) {
  UdSession session = Of(10);
  session.Begin();
  ASSERT_EQ(sent_.size(), 1U);
  EXPECT_EQ(sent_[0].bytes, 10U);
  EXPECT_TRUE(Answer(session));
  EXPECT_EQ(session.credits(), 3U);
}

TEST_F(SessionTest, RequestsBeyondItsSlotsWait) {
  UdSession session = Of(10);
  for (int i = 0; i < 3; ++i) session.Begin();
  EXPECT_EQ(sent_.size(), 2U);
  EXPECT_TRUE(Answer(session));
  EXPECT_EQ(sent_.size(), 2U);
  EXPECT_EQ(sent_.back().request, 2U);  // of the first slot
}

TEST_F(SessionTest, DatagramsBeyondItsCreditsWait) {
  UdSession session = Of(50);
  session.Begin();
  EXPECT_EQ(sent_.size(), 3U);
  EXPECT_EQ(session.credits(), 0U);
  EXPECT_FALSE(Answer(session));
  EXPECT_EQ(sent_.back().number, 3U);
}

TEST_F(SessionTest, MoreOfAResponseIsAskedForOnceTheFirstOfItHasCome) {
  UdSession session = Of(10, 30);
  session.Begin();
  EXPECT_EQ(sent_.size(), 1U);
  EXPECT_FALSE(Answer(session));
  ASSERT_EQ(sent_.size(), 2U);
  EXPECT_EQ(sent_.back().bytes, 0U);
  EXPECT_FALSE(Answer(session));
  EXPECT_TRUE(Answer(session));
}

TEST_F(SessionTest, AfterItsTimeItSendsAgainFromTheLostDatagramOn) {
  UdSession session = Of(30);
  session.Begin();
  Answer(session);
  sent_.clear();  // lost
  now_ += costs_.retransmission;
  session.Retransmit();
  EXPECT_TRUE(sent_.empty());
  now_ += Microseconds(1);
  session.Retransmit();
  ASSERT_EQ(sent_.size(), 2U);
  EXPECT_EQ(sent_[0].number, 1U);
  EXPECT_EQ(session.retransmissions(), 1U);
  EXPECT_FALSE(Answer(session));
  EXPECT_TRUE(Answer(session));
}

TEST_F(SessionTest, AnAnswerThatComesTwiceCountsOnce) {
  UdSession session = Of(20);
  session.Begin();
  sent_.insert(sent_.begin(), sent_.front());
  EXPECT_FALSE(Answer(session));
  EXPECT_FALSE(Answer(session));
  EXPECT_EQ(session.credits(), 2U);
  EXPECT_TRUE(Answer(session));
}

TEST_F(SessionTest, AnUncongestedSessionPaysForTheSampleAlone) {
  UdSession session = Of(10);
  session.Begin();
  Answer(session);
  EXPECT_EQ(spent_, costs_.sample);
}

TEST_F(SessionTest, WithoutTheBypassEachDatagramIsPacedAndEachSampleComputed) {
  costs_.bypass = false;
  UdSession session = Of(10);
  session.Begin();
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(session.SendDue(), absl::InfiniteFuture());
  Answer(session);
  EXPECT_EQ(spent_, costs_.pace + costs_.sample + costs_.update);
}

TEST_F(SessionTest, ACongestedSessionSendsAtItsRate) {
  costs_.slots = 1;
  costs_.header_bytes = 0;
  UdSession session = Of(10);
  session.Begin();
  Answer(session, Microseconds(900));
  ASSERT_FALSE(session.timely().uncongested());
  session.Begin();
  session.SendDue();
  EXPECT_EQ(sent_.size(), 1U);  // it has sent nothing for long
  Answer(session, absl::ZeroDuration());
  session.Begin();
  const absl::Time due = session.SendDue();
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(due, now_ + absl::Nanoseconds(20));  // ten bytes at half the link's rate
  now_ = due;
  session.SendDue();
  EXPECT_EQ(sent_.size(), 1U);
}

}  // namespace
}  // namespace skein::bench
