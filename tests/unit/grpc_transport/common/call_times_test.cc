// What a server says of a call's times, and what else a peer may say.
#include "grpc_transport/common/call_times.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

TEST(CallTimesTest, AreReadAsTheyWereTold) {
  for (const ServerTimes& times : {ServerTimes{1000, 1010, 1100, 5000}, ServerTimes{1000, 0, 1100, 0},
                                   ServerTimes{0, 10, 20, 30}, ServerTimes{~uint64_t{0} - 9, ~uint64_t{0}, 0, 0}}) {
    EXPECT_EQ(DecodeTimes(EncodeTimes(times)), times);
  }
}

TEST(CallTimesTest, WhatIsLongerOrShorterIsNone) {
  const std::string good = EncodeTimes({1, 2, 3, 4});
  for (const std::string& bytes : {std::string(), std::string("1"), good.substr(1), good + "0"}) {
    EXPECT_EQ(DecodeTimes(bytes), std::nullopt) << bytes;
  }
}

}  // namespace
}  // namespace skein::grpc_transport
