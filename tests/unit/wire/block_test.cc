// Blocks and their answers: what was encoded, or an error.
#include "core/wire/block.h"

#include "gtest/gtest.h"
#include "tests/support/exact_bytes.h"

namespace skein::wire {
namespace {

constexpr Block kSample{0x7f0000001000, 7, 1000, 3};

TEST(BlockTest, ComesBackAsItWas) {
  const absl::StatusOr<Block> block = DecodeBlock(ExactBytes(Encode(kSample)).text());
  ASSERT_TRUE(block.ok()) << block.status();
  EXPECT_EQ(block->address, kSample.address);
  EXPECT_EQ(block->rkey, kSample.rkey);
  EXPECT_EQ(block->size, kSample.size);
  EXPECT_EQ(block->number, kSample.number);
}

TEST(BlockTest, OtherLengthsAreRefused) {
  const std::string bytes = Encode(kSample);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeBlock(ExactBytes(bytes.substr(0, size)).text()).ok()) << size;
  }
  EXPECT_FALSE(DecodeBlock(ExactBytes(bytes + "!").text()).ok());
}

TEST(BlockTest, SizesAndNumbersAreBounded) {
  EXPECT_TRUE(DecodeBlock(Encode(Block{0, 0, kMaxBlockBytes, kMaxBlocks - 1})).ok());
  EXPECT_FALSE(DecodeBlock(Encode(Block{0, 0, 0, 0})).ok());
  EXPECT_FALSE(DecodeBlock(Encode(Block{0, 0, kMaxBlockBytes + 1, 0})).ok());
  EXPECT_FALSE(DecodeBlock(Encode(Block{0, 0, 1, kMaxBlocks})).ok());
}

TEST(PulledTest, ComesBackAsItWas) {
  const std::vector<uint32_t> numbers = {5, 0, 1023};
  EXPECT_EQ(DecodePulled(ExactBytes(EncodePulled(numbers)).text()).value(), numbers);
}

TEST(PulledTest, OtherLengthsAreRefused) {
  EXPECT_FALSE(DecodePulled("").ok());
  EXPECT_FALSE(DecodePulled("12345").ok());
  EXPECT_TRUE(DecodePulled(std::string(kMaxBlocks * 4, '\0')).ok());
  EXPECT_FALSE(DecodePulled(std::string((kMaxBlocks + 1) * 4, '\0')).ok());
}

}  // namespace
}  // namespace skein::wire
