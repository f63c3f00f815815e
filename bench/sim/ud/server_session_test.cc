#include "bench/sim/ud/server_session.h"

#include "gtest/gtest.h"

namespace skein::bench {
namespace {

using Verdict = UdServerSession::Verdict;

class ServerSessionTest : public ::testing::Test {
 protected:
  Verdict On(uint64_t request, size_t number, size_t slot = 0) {
    return session_.OnDatagram({.slot = slot, .request = request, .number = number});
  }

  UdServerSession session_{{.request_bytes = 20, .response_bytes = 20, .largest = 10}, 2};
};

TEST_F(ServerSessionTest, ARequestIsExecutedOnceItIsComplete) {
  EXPECT_EQ(On(1, 0), Verdict::kAnswer);
  EXPECT_EQ(On(1, 1), Verdict::kExecute);
  EXPECT_EQ(On(1, 2), Verdict::kAnswer);
  EXPECT_EQ(On(2, 0), Verdict::kAnswer);
  EXPECT_EQ(On(2, 1), Verdict::kExecute);
}

TEST_F(ServerSessionTest, ADatagramThatComesAgainIsAnsweredAgain) {
  On(1, 0);
  On(1, 1);
  EXPECT_EQ(On(1, 1), Verdict::kAnswer);
  EXPECT_EQ(On(1, 0), Verdict::kAnswer);
}

TEST_F(ServerSessionTest, ADatagramAfterALostOneIsDropped) {
  EXPECT_EQ(On(1, 1), Verdict::kDrop);
  On(1, 0);
  EXPECT_EQ(On(1, 2), Verdict::kDrop);
}

TEST_F(ServerSessionTest, ARequestThatIsOverIsDropped) {
  On(1, 0);
  On(1, 1);
  On(2, 0);
  EXPECT_EQ(On(1, 1), Verdict::kDrop);
}

TEST_F(ServerSessionTest, SlotsAreIndependent) {
  On(1, 0);
  EXPECT_EQ(On(1, 1, 1), Verdict::kDrop);
  EXPECT_EQ(On(1, 1, 0), Verdict::kExecute);
}

}  // namespace
}  // namespace skein::bench
