#include <pwd.h>
#include <skein/options.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
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

absl::Status NoSuchUser(const std::string& name, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("there is no user \"", name, "\" here", why));
}

absl::StatusOr<uid_t> NumberOf(const std::string& name) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  uint32_t number = 0;
  if (absl::SimpleAtoi(name, &number) && number != static_cast<uid_t>(-1)) return number;
  passwd entry;
  passwd* found = nullptr;
  int error = ERANGE;
  for (size_t size = 1024; error == ERANGE && size <= kMostBytes; size *= 2) {
    std::vector<char> buffer(size);
    do {
      error = getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    } while (error == EINTR);
  }
  if (found == nullptr) return NoSuchUser(name, error == 0 ? "" : absl::StrCat(": ", std::strerror(error)));
  return found->pw_uid;
}

}  // namespace

absl::StatusOr<PeerUsers> PeerUsers::Parse(absl::string_view list) {
  PeerUsers users;
  if (list.empty()) return users;
  for (const absl::string_view part : absl::StrSplit(list, ',')) {
    const absl::StatusOr<uid_t> user = NumberOf(std::string(absl::StripAsciiWhitespace(part)));
    if (!user.ok()) return user.status();
    users.others_.push_back(*user);
  }
  return users;
}

absl::Status PeerUsers::Check(uid_t peer) const {
  const uid_t own = geteuid();
  if (peer != own && !absl::c_linear_search(others_, peer)) {
    return FallbackError(FallbackCode::kDifferentUser,
                         absl::StrCat("users ", std::min(own, peer), " and ", std::max(own, peer),
                                      "; skein.peer_users at both ends may allow it"));
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
