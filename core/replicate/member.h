// A group at one member: what moves when a path is ready, or an order comes.
//
// One thread at a time moves a member: it has the turn. Another that comes meanwhile leaves a note and goes, and the
// one with the turn looks again. So no poller waits for another's copying, and all but orders and notes needs no lock.
#ifndef SKEIN_CORE_REPLICATE_MEMBER_H_
#define SKEIN_CORE_REPLICATE_MEMBER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/replicate/group.h"
#include "core/replicate/neighbour.h"
#include "core/replicate/write.h"

namespace skein::replicate {

class Member final : public Group, public std::enable_shared_from_this<Member> {
 public:
  Member(const GroupOptions& options, std::vector<MemberPath> paths, std::shared_ptr<GroupObserver> observer);
  ~Member() override;
  // Once it is shared.
  void Start();

  absl::StatusOr<uint64_t> Write(ConstBytes bytes) override ABSL_LOCKS_EXCLUDED(mu_);
  void Acknowledge(uint64_t write) override ABSL_LOCKS_EXCLUDED(mu_);
  void Fail(const absl::Status& why) override ABSL_LOCKS_EXCLUDED(mu_);

  // Takes the turn, or leaves a note for the thread that has it.
  void Advance();

 private:
  friend class Neighbour;

  // What callers want; the thread with the turn does it.
  struct Orders {
    std::optional<ConstBytes> write;
    uint64_t acknowledged = 0;  // that write
    absl::Status failure;
  };

  // All below: with the turn.
  bool Round();
  void TakeOrders() ABSL_LOCKS_EXCLUDED(mu_);
  bool ReadPaths();
  void StartSends();
  bool WritePaths();
  void TellProgress();
  void EndWrite() ABSL_LOCKS_EXCLUDED(mu_);
  void BeginWrite(const Begin& begin, Bytes place, ConstBytes source);
  void AcknowledgeOwn(uint64_t write);
  // By which of this member's peers that member's word comes; null: by none.
  std::optional<uint32_t> ChildTowards(uint32_t member) const;
  Neighbour& NeighbourAt(uint32_t member);

  // What neighbours say; errors are protocol errors.
  absl::Status OnBegin(const Begin& begin);
  absl::StatusOr<Bytes> PlaceOf(uint32_t from, const Block& block);
  void OnBlock(uint32_t from) { write_->progress.Arrived(from); }
  absl::Status OnHave(uint32_t from, const Have& have);
  // `by`: who says so, and need not be told; null: this member has noticed.
  void FailFrom(const Neighbour* by, uint32_t member, const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);

  const GroupOptions options_;
  const Schedule& schedule_;
  const std::shared_ptr<GroupObserver> observer_;
  uint32_t expected_haves_ = 0;     // of a write: this member's, and those that come by it; constant
  std::atomic<uint32_t> notes_{0};  // those of the turn under way, and newer ones; the turn is free at 0

  // With the turn.
  std::vector<std::unique_ptr<Neighbour>> neighbours_;  // rising
  std::optional<ActiveWrite> write_;
  uint64_t last_write_ = 0;
  bool failed_ = false;

  Mutex mu_;  // a leaf
  Orders orders_ ABSL_GUARDED_BY(mu_);
  uint64_t begun_ ABSL_GUARDED_BY(mu_) = 0;  // writes by this sender
  bool busy_ ABSL_GUARDED_BY(mu_) = false;   // one is under way
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::replicate

#endif  // SKEIN_CORE_REPLICATE_MEMBER_H_
