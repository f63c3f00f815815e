#include "core/replicate/group.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/replicate/frame.h"
#include "core/replicate/member.h"

namespace skein::replicate {
namespace {

absl::Status Check(const GroupOptions& options) {
  if (options.members < 2 || options.members > kMaxMembers) {
    return absl::InvalidArgumentError(absl::StrCat("a group has 2 to ", kMaxMembers, " members"));
  }
  if (options.self >= options.members) return absl::InvalidArgumentError("a member's number is below theirs");
  if (FindSchedule(options.schedule) == nullptr) return absl::InvalidArgumentError("there is no such schedule");
  if (options.block_bytes == 0 || options.max_sends == 0) {
    return absl::InvalidArgumentError("blocks have bytes, and one at least is under way");
  }
  return absl::OkStatus();
}

// Of rising numbers.
bool AreTo(const std::vector<MemberPath>& paths, const std::vector<uint32_t>& peers) {
  return std::equal(paths.begin(), paths.end(), peers.begin(), peers.end(),
                    [](const MemberPath& path, uint32_t peer) { return path.member == peer && path.path != nullptr; });
}

}  // namespace

absl::StatusOr<std::shared_ptr<Group>> CreateGroup(const GroupOptions& options, std::vector<MemberPath> paths,
                                                   std::shared_ptr<GroupObserver> observer) {
  if (absl::Status status = Check(options); !status.ok()) return status;
  std::sort(paths.begin(), paths.end(), [](const MemberPath& a, const MemberPath& b) { return a.member < b.member; });
  if (!AreTo(paths, FindSchedule(options.schedule)->PeersOf(options.members, options.self))) {
    return absl::InvalidArgumentError("a member has one path to each of its schedule's peers");
  }
  auto member = std::make_shared<Member>(options, std::move(paths), std::move(observer));
  member->Start();
  return member;
}

}  // namespace skein::replicate
