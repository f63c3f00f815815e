// One replica, as its primary sees it: what it is to be told next, over any number of connections.
//
//   each write of its group:   [follow | copy]  batches that it lacks  [a part of the copy]   then its acknowledgement
//
// One write is under way; what is written to the log meanwhile goes with the next.
#ifndef SKEIN_CORE_DURABLE_REPLICAS_FOLLOWER_H_
#define SKEIN_CORE_DURABLE_REPLICAS_FOLLOWER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/base/mutex.h"
#include "core/durable/replicas/journal.h"
#include "core/durable/storage/storage.h"
#include "core/replicate/group.h"

namespace skein::durable {

// Any thread.
class Follower : public std::enable_shared_from_this<Follower> {
 public:
  // `log` and `journal` outlive it; `number`: which of the journal's replicas it is.
  Follower(const Storage& log, Journal& journal, size_t number) : log_(log), journal_(journal), number_(number) {}

  // The observer of a connection's group, whose sender this end is. `on_end`: once, when that has failed.
  class Connection;
  std::shared_ptr<Connection> Observe(std::function<void(const absl::Status& why)> on_end);
  // Begins with that group, instead of any earlier connection. The replica has all batches up to `has`, if it says so;
  // otherwise it gets a copy.
  void Begin(std::shared_ptr<Connection> connection, std::shared_ptr<replicate::Group> group,
             std::optional<uint64_t> has) ABSL_LOCKS_EXCLUDED(mu_);
  // There may be batches that it lacks.
  void Send() ABSL_LOCKS_EXCLUDED(mu_);
  // Whether a write has been under way for so long.
  bool Silent(absl::Duration patience) ABSL_LOCKS_EXCLUDED(mu_);
  // Ends the connection, if there is one.
  void End(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // What the next write says; empty: nothing is to be said.
  absl::StatusOr<std::string> Next() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void BeginCopy(std::string& out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CopyPart(std::string& out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnAcknowledged(const Connection& connection) ABSL_LOCKS_EXCLUDED(mu_);
  void OnEnded(const Connection& connection, const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);

  const Storage& log_;
  Journal& journal_;
  const size_t number_;

  Mutex mu_;                                                     // before the journal's
  std::shared_ptr<Connection> connection_ ABSL_GUARDED_BY(mu_);  // null: there is none
  std::shared_ptr<replicate::Group> group_ ABSL_GUARDED_BY(mu_);
  bool writing_ ABSL_GUARDED_BY(mu_) = false;   // a write is under way
  Deadline written_at_ ABSL_GUARDED_BY(mu_);    // when that began
  std::string begins_ ABSL_GUARDED_BY(mu_);     // what the first write of a connection begins with
  uint64_t sent_ ABSL_GUARDED_BY(mu_) = 0;      // batches, those of the write under way included
  uint64_t copied_ ABSL_GUARDED_BY(mu_) = 0;    // bytes of the log, if it is being copied
  uint64_t whole_at_ ABSL_GUARDED_BY(mu_) = 0;  // the batch with which the replica's log is one
};

class Follower::Connection final : public replicate::GroupObserver {
 public:
  // By Observe.
  Connection(std::weak_ptr<Follower> follower, std::function<void(const absl::Status&)> on_end)
      : follower_(std::move(follower)), on_end_(std::move(on_end)) {}

  absl::StatusOr<replicate::Bytes> OnIncoming(uint64_t, uint64_t) override {
    return absl::FailedPreconditionError("a primary takes no writes");
  }
  void OnReceived(uint64_t) override {}
  void OnReleased(uint64_t) override {}  // before OnHave
  void OnHave(uint64_t, uint32_t) override;
  void OnFailed(const absl::Status& why) override;

 private:
  friend Follower;

  std::string written_;  // by whoever has begun the write under way; lives as long as the group
  const std::weak_ptr<Follower> follower_;
  const std::function<void(const absl::Status&)> on_end_;
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_REPLICAS_FOLLOWER_H_
