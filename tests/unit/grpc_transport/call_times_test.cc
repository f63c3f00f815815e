// What a server says of a call's times, and what else a peer may say.
#include "grpc_transport/call_times.h"

#include <optional>

#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

TEST(CallTimesTest, AreReadAsTheyWereTold) {
  for (const ServerTimes& times : {ServerTimes{1000, 1010, 1100, 5000}, ServerTimes{1000, 0, 1100, 0},
                                   ServerTimes{0, 10, 20, 30}, ServerTimes{~uint64_t{0} - 9, ~uint64_t{0}, 0, 0}}) {
    EXPECT_EQ(DecodeTimes(EncodeTimes(times)), times) << EncodeTimes(times);
  }
}

// 0 says that it is not known.
TEST(CallTimesTest, ATimeThatIsKnownStaysSo) {
  EXPECT_EQ(DecodeTimes(EncodeTimes({1000, 1000, 999, 0})), (ServerTimes{1000, 1001, 1001, 0}));
}

TEST(CallTimesTest, AnythingElseIsNone) {
  for (const char* text : {"", "1", "1-2-3", "1-2-3-4-5", "1-2-3-x", "1-2--4", "1-2-3-10000000000000000",
                           "0000000000000000000000000000000000000000000000000000000000000001-2-3-4"}) {
    EXPECT_EQ(DecodeTimes(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace skein::grpc_transport
