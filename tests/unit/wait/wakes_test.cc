#include "core/wait/wakes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace skein::wait {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

std::vector<const void*> woken;
void Note(const void* address) { woken.push_back(address); }

class WakesTest : public testing::Test {
 protected:
  void SetUp() override { woken.clear(); }

  std::array<char, 100> memory_;
};

TEST_F(WakesTest, WaitForTheEndAndKeepTheirOrder) {
  std::vector<const void*> addresses;
  {
    Wakes wakes(Note);
    EXPECT_FALSE(wakes.any());
    for (const char& each : memory_) addresses.push_back(&each);
    for (const void* address : addresses) Wakes::Unpark(address);
    EXPECT_TRUE(wakes.any());
    EXPECT_THAT(woken, IsEmpty());
  }
  EXPECT_THAT(woken, ElementsAreArray(addresses));
}

// A poll inside another one's lock.
TEST_F(WakesTest, WaitForTheEndOfTheOutermost) {
  {
    Wakes outer(Note);
    {
      Wakes inner(Note);
      Wakes::Unpark(&memory_[0]);
    }
    EXPECT_TRUE(outer.any());
    EXPECT_THAT(woken, IsEmpty());
  }
  EXPECT_EQ(woken.size(), 1u);
}

}  // namespace
}  // namespace skein::wait
