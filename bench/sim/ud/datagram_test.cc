#include "bench/sim/ud/datagram.h"

#include "gtest/gtest.h"

namespace skein::bench {
namespace {

TEST(ExchangeTest, SmallOnesAreADatagramEachWay) {
  const Exchange exchange = {.request_bytes = 64, .response_bytes = 0, .largest = 1000};
  EXPECT_EQ(exchange.datagrams(), 1U);
  EXPECT_EQ(exchange.RequestBytes(0), 64U);
  EXPECT_EQ(exchange.AnswerBytes(0), 0U);
}

TEST(ExchangeTest, LargerOnesAreCut) {
  const Exchange exchange = {.request_bytes = 2000, .response_bytes = 2001, .largest = 1000};
  EXPECT_EQ(exchange.requests(), 2U);
  EXPECT_EQ(exchange.responses(), 3U);
  EXPECT_EQ(exchange.datagrams(), 4U);
  EXPECT_EQ(exchange.RequestBytes(1), 1000U);
  EXPECT_EQ(exchange.AnswerBytes(0), 0U);  // a credit return
  EXPECT_EQ(exchange.AnswerBytes(1), 1000U);
  EXPECT_EQ(exchange.AnswerBytes(3), 1U);
}

}  // namespace
}  // namespace skein::bench
