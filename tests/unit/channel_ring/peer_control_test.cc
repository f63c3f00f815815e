// An end looks at the line that its peer writes: before the line has landed, while it lands, and afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/channel/ring/handover.h"
#include "tests/unit/channel_ring/plain_fabric.h"

namespace skein::channel {
namespace {

using ::testing::Optional;

class PeerControlTest : public ::testing::Test {
 protected:
  void Land(const wire::ControlLine& line, size_t words = wire::kControlWords) {
    std::copy_n(line.begin(), words, words_);
  }

  const wire::ControlLine first_ = wire::EncodeControl({.consumed = 64, .wanted = 128}, kRingSecret);
  const wire::ControlLine second_ = wire::EncodeControl({.consumed = 192, .wanted = 128}, kRingSecret);
  uint64_t words_[wire::kControlWords] = {};
  PeerControl control_{words_, kRingSecret};
};

TEST_F(PeerControlTest, ALineIsSeenOnce) {
  EXPECT_FALSE(control_.news());
  Land(first_);
  EXPECT_TRUE(control_.news());
  EXPECT_THAT(control_.Look(/*heeds=*/true).value(), Optional(wire::Control{.consumed = 64, .wanted = 128}));
  EXPECT_FALSE(control_.news());
  EXPECT_EQ(control_.Look(/*heeds=*/true).value(), std::nullopt);
}

TEST_F(PeerControlTest, ALineSeenBySenderStaysNewsForThePoller) {
  Land(first_);
  EXPECT_TRUE(control_.Look(/*heeds=*/false).value().has_value());
  EXPECT_TRUE(control_.news());
  EXPECT_EQ(control_.Look(/*heeds=*/true).value(), std::nullopt);
  EXPECT_FALSE(control_.news());
}

// The notification of the first has rung, and the second has none: a poller that slept now would sleep over both.
TEST_F(PeerControlTest, ALineThatAnotherIsLandingOnStaysNewsUntilThatIsWhole) {
  Land(first_);
  Land(second_, 1);
  EXPECT_EQ(control_.Look(/*heeds=*/true).value(), std::nullopt);
  EXPECT_TRUE(control_.news());
  Land(second_);
  EXPECT_THAT(control_.Look(/*heeds=*/true).value(), Optional(wire::Control{.consumed = 192, .wanted = 128}));
  EXPECT_FALSE(control_.news());
}

}  // namespace
}  // namespace skein::channel
