// A group: one sender, whose writes all receivers get, block by block, each relaying what it has (RDMC).
//
//            Write / a begin          all blocks are there           the receiver says so, and so have those behind it
//     idle -------------------> moving ---------------------> held ----------------------------------------> idle
//       |                          |                            |
//       +--------------------------+----------------------------+--> failed: a member, its path or its word is bad;
//                                                                    each says so on all its other paths
//
// One write at a time. A group that has failed stays so.
#ifndef SKEIN_CORE_REPLICATE_GROUP_H_
#define SKEIN_CORE_REPLICATE_GROUP_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/replicate/path.h"
#include "core/replicate/schedule.h"

namespace skein::replicate {

struct GroupOptions {
  // The same at all members.
  uint64_t id = 0;
  uint32_t members = 0;  // member 0 is the sender
  ScheduleKind schedule = ScheduleKind::kBinomialPipeline;

  uint32_t self = 0;
  uint32_t block_bytes = 256 << 10;        // the sender's choice; bench/sim has this and max_sends from a sweep
  uint64_t max_bytes = uint64_t{1} << 30;  // of a write that a receiver takes
  uint32_t max_sends = 8;                  // blocks of this member that are under way
};

// Called by a thread that polls a path, or by one that calls the group, with no lock held and never twice at once. May
// call the group; must not block. `write` counts from 1.
class GroupObserver {
 public:
  virtual ~GroupObserver() = default;
  // A receiver's: memory for a write of `bytes`, no less, that stays until OnReleased or OnFailed. An error fails the
  // group.
  virtual absl::StatusOr<Bytes> OnIncoming(uint64_t write, uint64_t bytes) = 0;
  // A receiver's: all of it is there, and nothing is written to it again. The group may still read it. Acknowledge it
  // once it counts as had.
  virtual void OnReceived(uint64_t write) = 0;
  // Any member's: the memory of the write is its owner's again.
  virtual void OnReleased(uint64_t write) = 0;
  // The sender's: so many receivers have acknowledged it; each call says more than the one before. With all of them the
  // write is over, and the next may begin.
  virtual void OnHave(uint64_t write, uint32_t receivers) = 0;
  // Once, at last: nothing more comes. A write that was under way has failed, and its memory is its owner's. The
  // message names the member where it happened.
  virtual void OnFailed(const absl::Status& why) = 0;
};

// Any thread.
class Group {
 public:
  virtual ~Group() = default;  // ends all paths; the other members' groups fail

  // The sender's. `bytes` stay until OnReleased or OnFailed. RESOURCE_EXHAUSTED: a write is under way; after the last
  // OnHave there is none. INVALID_ARGUMENT: more blocks than may be. If the group has failed, why.
  virtual absl::StatusOr<uint64_t> Write(ConstBytes bytes) = 0;
  // A receiver's, after OnReceived. Nothing, if that write is over.
  virtual void Acknowledge(uint64_t write) = 0;
  // Fails the group, here and at all members that can be reached.
  virtual void Fail(const absl::Status& why) = 0;
};

// `paths`: to each of the schedule's peers of this member. INVALID_ARGUMENT for options and paths that do not fit.
absl::StatusOr<std::shared_ptr<Group>> CreateGroup(const GroupOptions& options, std::vector<MemberPath> paths,
                                                   std::shared_ptr<GroupObserver> observer);

}  // namespace skein::replicate

#endif  // SKEIN_CORE_REPLICATE_GROUP_H_
