// A child made by fork() while its parent has a client or a server.
#include "core/base/forked.h"

#include <sys/wait.h>
#include <unistd.h>

#include "core/rpc/client.h"
#include "core/rpc/server.h"
#include "gtest/gtest.h"

namespace skein::rpc {
namespace {

bool AChildKnowsThatItsParentUsedSkein() {
  const pid_t child = fork();
  if (child == 0) _exit(InForkedChild() ? 1 : 0);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

// ctest runs each case in a process of its own: the mark of one case would serve the other.
TEST(ForkedTest, AChildOfAClientsProcessKnowsThatItsParentUsedSkein) {
  const Client client(Options{});
  EXPECT_TRUE(AChildKnowsThatItsParentUsedSkein());
}

TEST(ForkedTest, AChildOfAServersProcessKnowsThatItsParentUsedSkein) {
  const Server server(Options{});
  EXPECT_TRUE(AChildKnowsThatItsParentUsedSkein());
}

}  // namespace
}  // namespace skein::rpc
