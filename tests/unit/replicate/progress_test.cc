#include "core/replicate/progress.h"

#include <optional>

#include "gtest/gtest.h"

namespace skein::replicate {
namespace {

Progress Of(uint32_t member) { return Progress(BinomialPipeline(), {4, 2}, member); }

TEST(ProgressTest, TheSenderHasAllFromTheBeginning) {
  Progress sender = Of(0);
  EXPECT_TRUE(sender.complete());
  EXPECT_EQ(sender.NextSend(), (Transfer{0, 1, 0}));
  for (int sends = 0; sends < 3; ++sends) sender.BeginSend();
  EXPECT_TRUE(sender.all_sent());
  EXPECT_EQ(sender.NextSend(), std::nullopt);
  EXPECT_EQ(sender.ExpectedFrom(1), std::nullopt);
}

TEST(ProgressTest, ARelaySendsABlockOnceItIsThere) {
  Progress relay = Of(1);
  EXPECT_EQ(relay.NextSend(), std::nullopt);
  EXPECT_EQ(relay.ExpectedFrom(0), 0U);
  EXPECT_EQ(relay.ExpectedFrom(2), std::nullopt);
  relay.Arrived(0);
  EXPECT_EQ(relay.NextSend(), (Transfer{1, 3, 0}));
  EXPECT_FALSE(relay.complete());
  EXPECT_EQ(relay.ExpectedFrom(0), 1U);
  relay.Arrived(0);
  EXPECT_EQ(relay.ExpectedFrom(0), std::nullopt);
  EXPECT_TRUE(relay.complete());
}

TEST(ProgressTest, ALaterSendDoesNotOvertakeOneWhoseBlockIsMissing) {
  // Member 2 of 4 gets block 1 from the sender, and block 0 from member 3.
  Progress relay = Of(2);
  const Part part = BinomialPipeline().PartOf({4, 2}, 2);
  ASSERT_FALSE(part.sends.empty());
  const uint32_t first = part.sends[0].block;
  for (const Transfer& receive : part.receives) {
    if (receive.block != first) relay.Arrived(receive.peer);
  }
  EXPECT_EQ(relay.NextSend(), std::nullopt);
}

}  // namespace
}  // namespace skein::replicate
