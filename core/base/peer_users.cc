#include "core/base/peer_users.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/fallback.h"

namespace skein {
namespace {

std::string TextOf(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The number by which the kernel names every user that the asking process's user namespace has no number for. Without
// /proc it is taken to be the kernel's default.
uid_t NumberOfTheUnmapped() {
  static const uid_t number = [] {
    constexpr uint32_t kDefault = 65534;
    uint32_t told = 0;
    return absl::SimpleAtoi(TextOf("/proc/sys/kernel/overflowuid"), &told) ? told : kDefault;
  }();
  return number;
}

// Whether this user namespace has a number for every user there is. Without /proc nothing says so.
bool EveryUserIsMapped() {
  const std::string map = TextOf("/proc/self/uid_map");
  return std::vector<std::string>(absl::StrSplit(map, absl::ByAnyChar(" \n"), absl::SkipEmpty())) ==
         std::vector<std::string>{"0", "0", "4294967295"};
}

}  // namespace

absl::Status PeerUsers::Check(uid_t peer) const {
  const uid_t own = geteuid();
  if (peer != own && !absl::c_linear_search(others_, peer)) {
    return FallbackError(FallbackCode::kDifferentUser,
                         absl::StrCat("users ", std::min(own, peer), " and ", std::max(own, peer)));
  }
  if (peer == NumberOfTheUnmapped() && !EveryUserIsMapped()) {
    return FallbackError(FallbackCode::kDifferentUser,
                         absl::StrCat(peer,
                                      " is the number of all whom an end's user namespace has none for; run "
                                      "both ends as another user"));
  }
  return absl::OkStatus();
}

}  // namespace skein
