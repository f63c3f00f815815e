// Words about lanes: what was encoded, or an error.
#include "core/wire/lane_messages.h"

#include "gtest/gtest.h"
#include "tests/support/exact_bytes.h"
#include "tests/support/wire_samples.h"

namespace skein::wire {
namespace {

TEST(LaneMessagesTest, ComeBackAsTheyWere) {
  const absl::StatusOr<OpenLane> open = DecodeOpenLane(ExactBytes(Encode(OpenLane{3, "offer"})).text());
  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_EQ(open->lane, 3);
  EXPECT_EQ(open->queue_pair, "offer");
  const absl::StatusOr<GivenLane> given =
      DecodeGivenLane(ExactBytes(Encode(GivenLane{4, SampleRing(), "answer"})).text());
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_EQ(given->lane, 4);
  EXPECT_EQ(given->ring.secret, SampleRing().secret);
  EXPECT_EQ(given->queue_pair, "answer");
}

TEST(LaneMessagesTest, OtherLengthsAreRefused) {
  const std::string open = Encode(OpenLane{3, "offer"});
  for (size_t size = 0; size < open.size(); ++size) {
    EXPECT_FALSE(DecodeOpenLane(ExactBytes(open.substr(0, size)).text()).ok()) << size;
  }
  EXPECT_FALSE(DecodeOpenLane(ExactBytes(open + "!").text()).ok());
  const std::string given = Encode(GivenLane{3, SampleRing(), "answer"});
  for (size_t size = 0; size < given.size(); ++size) {
    EXPECT_FALSE(DecodeGivenLane(ExactBytes(given.substr(0, size)).text()).ok()) << size;
  }
  EXPECT_FALSE(DecodeGivenLane(ExactBytes(given + "!").text()).ok());
}

TEST(LaneMessagesTest, QueuePairsBytesAreBounded) {
  EXPECT_TRUE(DecodeOpenLane(Encode(OpenLane{1, std::string(kMaxQueuePairBytes, 'x')})).ok());
  EXPECT_FALSE(DecodeOpenLane(Encode(OpenLane{1, std::string(kMaxQueuePairBytes + 1, 'x')})).ok());
}

TEST(LaneMessagesTest, ARingThatCannotBeIsRefused) {
  RingDescriptor ring = SampleRing();
  ring.size = 7;
  EXPECT_FALSE(DecodeGivenLane(Encode(GivenLane{1, ring, "answer"})).ok());
}

}  // namespace
}  // namespace skein::wire
