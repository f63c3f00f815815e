// Memory for large payloads: bounded, lent, and back again.
#include "core/link/blocks.h"

#include <memory>
#include <set>

#include "core/fabric/sim/simulation.h"
#include "gtest/gtest.h"
#include "tests/unit/link/recording_port.h"

namespace skein::link {
namespace {

constexpr size_t kAll = Blocks::kSlabBlocks * Blocks::kMaxSlabs;

class BlocksTest : public testing::Test {
 protected:
  std::vector<uint32_t> TakeAndAnnounce(size_t count) {
    std::vector<uint32_t> numbers;
    for (size_t i = 0; i < count; ++i) {
      numbers.push_back(blocks_.Take(*port_).value().number);
      blocks_.Announce(numbers.back());
    }
    return numbers;
  }

  fabric::Simulation simulation_{20261121};
  const std::shared_ptr<fabric::Device> device_ = simulation_.CreateDevice("sender");
  Blocks blocks_{device_.get()};
  const std::shared_ptr<RecordingPort> port_ = std::make_shared<RecordingPort>(1);
};

TEST_F(BlocksTest, AreDistinctAndBounded) {
  std::set<std::byte*> places;
  std::set<uint32_t> numbers;
  for (size_t i = 0; i < kAll; ++i) {
    const absl::StatusOr<Blocks::Block> block = blocks_.Take(*port_);
    ASSERT_TRUE(block.ok()) << block.status();
    std::fill_n(block->bytes, Blocks::kBlockBytes, std::byte{1});
    places.insert(block->bytes);
    numbers.insert(block->number);
  }
  EXPECT_EQ(places.size(), kAll);
  EXPECT_EQ(numbers.size(), kAll);
  EXPECT_LT(*numbers.rbegin(), wire::kMaxBlocks);
  EXPECT_TRUE(absl::IsResourceExhausted(blocks_.Take(*port_).status()));
}

TEST_F(BlocksTest, WhoFoundNoneIsToldOnceWhenOneIsFree) {
  const std::vector<uint32_t> numbers = TakeAndAnnounce(kAll);
  const auto other = std::make_shared<RecordingPort>(2);
  EXPECT_FALSE(blocks_.Take(*port_).ok());
  EXPECT_FALSE(blocks_.Take(*port_).ok());
  EXPECT_FALSE(blocks_.Take(*other).ok());
  EXPECT_TRUE(blocks_.TakeWaiters().empty());
  ASSERT_TRUE(blocks_.OnPulled(numbers[5]).ok());
  EXPECT_EQ(blocks_.TakeWaiters(), (std::vector<std::shared_ptr<Port>>{port_, other}));
  EXPECT_TRUE(blocks_.TakeWaiters().empty());
  EXPECT_EQ(blocks_.Take(*port_).value().number, numbers[5]);
}

TEST_F(BlocksTest, OneThatIsGivenBackIsFree) {
  TakeAndAnnounce(kAll - 1);
  const uint32_t last = TakeAndAnnounce(1).front();
  EXPECT_FALSE(blocks_.Take(*port_).ok());
  EXPECT_TRUE(blocks_.GiveBack(last));  // somebody waits
  EXPECT_EQ(blocks_.TakeWaiters().size(), 1u);
  EXPECT_EQ(TakeAndAnnounce(1).front(), last);
  EXPECT_FALSE(blocks_.GiveBack(last));
}

TEST_F(BlocksTest, OneThatALiarHasPulledAndAnotherFillsIsNotGivenBackTwice) {
  TakeAndAnnounce(kAll - 1);
  const uint32_t last = TakeAndAnnounce(1).front();
  ASSERT_TRUE(blocks_.OnPulled(last).ok()) << "the peer cannot have heard of it";
  ASSERT_EQ(blocks_.Take(*port_).value().number, last);
  blocks_.GiveBack(last);  // by the first who had it
  EXPECT_FALSE(blocks_.Take(*port_).ok()) << "two would fill one block";
}

TEST_F(BlocksTest, OnlyWhatIsOutCanBePulled) {
  EXPECT_FALSE(blocks_.OnPulled(0).ok());
  const uint32_t number = blocks_.Take(*port_).value().number;
  EXPECT_FALSE(blocks_.OnPulled(number).ok()) << "not announced yet";
  blocks_.Announce(number);
  EXPECT_TRUE(blocks_.OnPulled(number).ok());
  EXPECT_FALSE(blocks_.OnPulled(number).ok()) << "twice";
  EXPECT_FALSE(blocks_.OnPulled(UINT32_MAX).ok());
}

TEST_F(BlocksTest, AllAreBackWhenTheLastWasPulled) {
  EXPECT_TRUE(blocks_.AllBack(/*tells=*/false));
  EXPECT_FALSE(blocks_.flush_wanted());
  const std::vector<uint32_t> numbers = TakeAndAnnounce(2);
  EXPECT_FALSE(blocks_.AllBack(/*tells=*/false));
  EXPECT_TRUE(blocks_.flush_wanted());
  ASSERT_TRUE(blocks_.OnPulled(numbers[1]).ok());
  EXPECT_FALSE(blocks_.AllBack(/*tells=*/true));
  ASSERT_TRUE(blocks_.OnPulled(numbers[0]).ok());
  EXPECT_TRUE(blocks_.AllBack(/*tells=*/false));
  EXPECT_TRUE(blocks_.flush_wanted()) << "who has heard no has not been told";
  EXPECT_TRUE(blocks_.AllBack(/*tells=*/true));
  EXPECT_FALSE(blocks_.flush_wanted());
}

TEST_F(BlocksTest, NobodyWaitsForAPeerThatIsGone) {
  TakeAndAnnounce(1);
  blocks_.Fail();
  EXPECT_TRUE(blocks_.AllBack(/*tells=*/false));
}

TEST(BlocksWithoutMemoryTest, SaySo) {
  fabric::SimConfig config;
  config.max_allocated_bytes = 64 << 10;
  fabric::Simulation simulation(20261121, config);
  const std::shared_ptr<fabric::Device> device = simulation.CreateDevice("sender");
  Blocks blocks(device.get());
  RecordingPort port(1);
  EXPECT_TRUE(absl::IsFailedPrecondition(blocks.Take(port).status()));
  EXPECT_TRUE(blocks.TakeWaiters().empty());
}

}  // namespace
}  // namespace skein::link
