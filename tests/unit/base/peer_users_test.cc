// With whom memory is shared, by the numbers that the kernel has for users.
#include <fcntl.h>
#include <sched.h>
#include <skein/options.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/fallback.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein {
namespace {

constexpr uid_t kUnmapped = 65534;  // as the kernel has it by default

FallbackCode CodeOf(const PeerUsers& users, uid_t peer) {
  const absl::Status status = users.Check(peer);
  return status.ok() ? FallbackCode::kNone : FallbackOf(status).code;
}

TEST(PeerUsersTest, ByDefaultTheOwnUserAlone) {
  const uid_t own = geteuid();
  EXPECT_EQ(CodeOf({}, own), FallbackCode::kNone);
  for (const uid_t other : {own + 1, own == 0 ? 1000U : 0U}) {
    EXPECT_EQ(CodeOf({}, other), FallbackCode::kDifferentUser) << other;
    EXPECT_EQ(PeerUsers().Check(other).message(),
              absl::StrCat("users ", std::min(own, other), " and ", std::max(own, other),
                           "; skein.peer_users at both ends may allow it"));
  }
}

TEST(PeerUsersTest, ThoseThatAreNamedBesides) {
  const uid_t own = geteuid();
  const PeerUsers users({own + 1, own + 2});
  for (const uid_t allowed : {own, own + 1, own + 2}) EXPECT_EQ(CodeOf(users, allowed), FallbackCode::kNone) << allowed;
  EXPECT_EQ(CodeOf(users, own + 3), FallbackCode::kDifferentUser);
}

// Of what a process of its own user namespace finds, in which `map` is what its numbers mean ("": none has a meaning).
FallbackCode InAUserNamespace(const std::string& map, const std::function<FallbackCode()>& finds) {
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWUSER) != 0) _exit(255);
    if (!map.empty()) {
      const int file = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
      if (write(file, map.data(), map.size()) != static_cast<ssize_t>(map.size())) _exit(254);
    }
    _exit(static_cast<int>(finds()));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return static_cast<FallbackCode>(WEXITSTATUS(status));
}

class UserNamespaces : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "the maps are root's to write";
    if (InAUserNamespace("", [] { return FallbackCode::kNone; }) != FallbackCode::kNone) {
      GTEST_SKIP() << "no user namespaces here";
    }
  }
};

TEST_F(UserNamespaces, WhoseNumberIsThatOfTheUnmappedMayBeAnybody) {
  const auto finds = [] {
    if (geteuid() != kUnmapped) return FallbackCode::kProtocol;
    return CodeOf({}, kUnmapped);
  };
  EXPECT_EQ(InAUserNamespace("", finds), FallbackCode::kDifferentUser) << "this process has no number itself";
  EXPECT_EQ(InAUserNamespace("65534 0 1", finds), FallbackCode::kDifferentUser) << "it has that one, and others none";
}

TEST_F(UserNamespaces, SuchANumberMayBeAnybodyThoughItIsNamed) {
  const auto finds = [] { return CodeOf(PeerUsers({kUnmapped}), kUnmapped); };
  EXPECT_EQ(InAUserNamespace("1000 0 1", finds), FallbackCode::kDifferentUser);
  EXPECT_EQ(finds(), FallbackCode::kNone) << "outside all have numbers";
}

TEST_F(UserNamespaces, AnyOtherNumberIsOneUsers) {
  const auto finds = [] { return geteuid() == 1000 ? CodeOf({}, 1000) : FallbackCode::kProtocol; };
  EXPECT_EQ(InAUserNamespace("1000 0 1", finds), FallbackCode::kNone);
}

TEST(PeerUsersTest, NobodyIsAUserWhereAllHaveNumbers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const pid_t child = fork();
  if (child == 0) _exit(setuid(kUnmapped) == 0 ? static_cast<int>(CodeOf({}, kUnmapped)) : 255);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(FallbackCode::kNone));
}

}  // namespace
}  // namespace skein
