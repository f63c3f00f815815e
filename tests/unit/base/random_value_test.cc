#include "core/base/random_value.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <set>

#include "core/base/unique_fd.h"
#include "gtest/gtest.h"

namespace skein {
namespace {

using Value = std::array<uint8_t, 16>;

Value DrawnByAChild() {
  std::array<int, 2> ends;
  EXPECT_EQ(pipe(ends.data()), 0);
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    const auto value = RandomValue<Value>();
    _exit(write(in.get(), value.data(), value.size()) == sizeof(value) ? 0 : 1);
  }
  Value value = {};
  EXPECT_EQ(read(out.get(), value.data(), value.size()), ssize_t{sizeof(value)});
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return value;
}

// Two that did would be one client to a durable server: it answered one's call with the other's reply.
TEST(RandomValueTest, NoTwoChildrenOfOneParentDrawTheSame) {
  std::set<Value> drawn = {RandomValue<Value>()};
  for (int i = 0; i < 3; ++i) drawn.insert(DrawnByAChild());
  drawn.insert(RandomValue<Value>());
  EXPECT_EQ(drawn.size(), 5U);
}

}  // namespace
}  // namespace skein
