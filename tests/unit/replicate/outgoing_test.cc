#include "core/replicate/outgoing.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/member_log.h"
#include "tests/support/memory_path.h"

namespace skein::replicate {
namespace {

class OutgoingTest : public ::testing::Test {
 protected:
  // All that has come; "!" at the end says that nothing more comes.
  std::string Read() {
    std::string text;
    std::string piece(100, '\0');
    for (;;) {
      const auto got = ends_.second->Read(Bytes(reinterpret_cast<std::byte*>(piece.data()), piece.size()));
      if (!got.ok()) return text + "!";
      if (*got == 0) return text;
      text.append(piece, 0, *got);
    }
  }
  Outgoing::Taken Write() { return outgoing_.Write(*ends_.first).value(); }

  MemoryNetwork network_;
  decltype(MemoryPath::MakePair(network_, 10)) ends_ = MemoryPath::MakePair(network_, 10);
  Outgoing outgoing_;
};

TEST_F(OutgoingTest, FramesAndBlocksGoInOrderAsFarAsTheyFit) {
  const std::string block = "a block of 22 letters.";
  outgoing_.Say("one ");
  outgoing_.SendBlock("two ", BytesOf(block));
  outgoing_.Say(" three");
  std::string all;
  size_t blocks = 0;
  for (int writes = 0; writes < 4; ++writes) {
    blocks += Write().blocks;
    all += Read();
  }
  EXPECT_EQ(all, "one two a block of 22 letters. three");
  EXPECT_EQ(blocks, 1U);
  EXPECT_TRUE(outgoing_.idle());
}

TEST_F(OutgoingTest, ABlockThatIsPartlyOutGoesToItsEndFromACopy) {
  std::string block = "a block of 22 letters.";
  outgoing_.SendBlock("one ", BytesOf(block));
  outgoing_.SendBlock("two ", BytesOf(block));
  EXPECT_FALSE(Write().all);
  outgoing_.Cut();
  block.assign(block.size(), 'x');
  outgoing_.Say(" failed");
  outgoing_.Close();
  std::string all;
  for (int writes = 0; writes < 5; ++writes) {
    EXPECT_EQ(Write().blocks, 0U);
    all += Read();
  }
  EXPECT_EQ(all.substr(0, all.find('!')), "one a block of 22 letters. failed");
  EXPECT_EQ(all.back(), '!');
}

TEST_F(OutgoingTest, FramesBehindABlockThatIsCutStillGo) {
  const std::string block = "never";
  outgoing_.SendBlock("block ", BytesOf(block));
  outgoing_.Say("word");
  outgoing_.Cut();
  Write();
  EXPECT_EQ(Read(), "word");
}

// Whether the path has taken none of them, some, or all.
TEST_F(OutgoingTest, FramesBeforeABlockThatIsCutStillGo) {
  const std::string block = "never";
  for (const std::string frames : {"word", "twelve bytes", "ten bytes."}) {
    outgoing_.Say(frames);
    outgoing_.SendBlock("block ", BytesOf(block));
    if (frames.size() >= 10) Write();
    outgoing_.Cut();
    std::string all = Read();
    for (int writes = 0; writes < 2; ++writes) {
      EXPECT_EQ(Write().blocks, 0U);
      all += Read();
    }
    EXPECT_EQ(all, frames);
    EXPECT_TRUE(outgoing_.idle());
  }
}

TEST_F(OutgoingTest, APathThatIsGoneIsAnError) {
  ends_.second.reset();
  outgoing_.Say("to nobody");
  EXPECT_TRUE(absl::IsUnavailable(outgoing_.Write(*ends_.first).status()));
  outgoing_.Drop();
  EXPECT_TRUE(outgoing_.idle());
}

}  // namespace
}  // namespace skein::replicate
