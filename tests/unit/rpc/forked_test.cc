// A child made by fork() while its parent has a client or a server.
#include "core/base/forked.h"

#include <skein/rpc.h>

#include "gtest/gtest.h"
#include "tests/support/in_child.h"

namespace skein::rpc {
namespace {

int IsForkedChild() { return InForkedChild() ? 1 : 0; }

// ctest runs each case in a process of its own: the mark of one case would serve the other.
TEST(ForkedTest, AChildOfAClientsProcessKnowsThatItsParentUsedSkein) {
  const Client client(Options{});
  EXPECT_EQ(InChild(IsForkedChild), 1);
}

TEST(ForkedTest, AChildOfAServersProcessKnowsThatItsParentUsedSkein) {
  const Server server(Options{});
  EXPECT_EQ(InChild(IsForkedChild), 1);
}

}  // namespace
}  // namespace skein::rpc
