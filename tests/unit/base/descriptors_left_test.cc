#include "core/base/descriptors_left.h"

#include <sys/resource.h>
#include <unistd.h>

#include "core/base/unique_fd.h"
#include "gtest/gtest.h"

namespace skein {
namespace {

TEST(DescriptorsLeftTest, CountsFromTheLowestThatIsFree) {
  const int lowest = UniqueFd(dup(0)).get();  // closed again: others above it may be open
  ASSERT_GE(lowest, 0);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlim_t five_more = static_cast<rlim_t>(lowest) + 5;
  const rlimit tight = {five_more, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  EXPECT_TRUE(DescriptorsLeft(5));
  EXPECT_FALSE(DescriptorsLeft(6));
  const rlimit none = {five_more - 5, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_FALSE(DescriptorsLeft(1));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace skein
