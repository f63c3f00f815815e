// The members of a group in one process, on one thread.
#ifndef SKEIN_TESTS_CONFORMANCE_REPLICATE_MEMBERS_H_
#define SKEIN_TESTS_CONFORMANCE_REPLICATE_MEMBERS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/replicate/group.h"
#include "tests/conformance/paths_under_test.h"
#include "tests/support/member_log.h"

namespace skein::replicate {

class Members {
 public:
  // `options`: of all; `self` is set here.
  Members(PathsUnderTest& paths, const GroupOptions& options) : paths_(paths) {
    std::vector<std::vector<MemberPath>> ends(options.members);
    for (uint32_t member = 0; member < options.members; ++member) {
      for (const uint32_t peer : FindSchedule(options.schedule)->PeersOf(options.members, member)) {
        if (peer < member) continue;
        auto [mine, theirs] = paths.MakePair();
        ends[member].push_back({peer, std::move(mine)});
        ends[peer].push_back({member, std::move(theirs)});
      }
    }
    for (uint32_t member = 0; member < options.members; ++member) {
      GroupOptions own = options;
      own.self = member;
      logs_.push_back(std::make_shared<MemberLog>());
      groups_.push_back(CreateGroup(own, std::move(ends[member]), logs_.back()).value());
      logs_.back()->group = groups_.back().get();
    }
  }
  // Those that are left leave.
  ~Members() {
    groups_.clear();
    Run();
  }

  Group& sender() { return *groups_[0]; }
  Group& at(uint32_t member) { return *groups_[member]; }
  MemberLog& log(uint32_t member) { return *logs_[member]; }
  uint32_t size() const { return static_cast<uint32_t>(logs_.size()); }
  // As a process that dies.
  void Kill(uint32_t member) { groups_[member].reset(); }

  // Until nothing moves.
  void Run() {
    while (paths_.Pump()) {
    }
  }
  // Until it holds. False: nothing moves any more, and it does not.
  bool RunUntil(absl::FunctionRef<bool()> condition) {
    while (!condition()) {
      if (!paths_.Pump()) return condition();
    }
    return true;
  }

 private:
  PathsUnderTest& paths_;
  std::vector<std::shared_ptr<MemberLog>> logs_;
  std::vector<std::shared_ptr<Group>> groups_;
};

}  // namespace skein::replicate

#endif  // SKEIN_TESTS_CONFORMANCE_REPLICATE_MEMBERS_H_
