// A primary's group at its replica: takes what the primary writes, and applies it.
#ifndef SKEIN_CORE_DURABLE_REPLICAS_REPLICA_SESSION_H_
#define SKEIN_CORE_DURABLE_REPLICAS_REPLICA_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/durable/replicas/replica_log.h"
#include "core/replicate/group.h"

namespace skein::durable {

// On the one thread that polls the group's path: between two polls it applies what has come (Work), which may take a
// disk's time.
class ReplicaSession final : public replicate::GroupObserver {
 public:
  // `log` outlives it.
  explicit ReplicaSession(ReplicaLog& log) : log_(log) {}

  absl::StatusOr<replicate::Bytes> OnIncoming(uint64_t, uint64_t bytes) override {
    changes_.resize(bytes);
    return replicate::Bytes(reinterpret_cast<std::byte*>(changes_.data()), changes_.size());
  }
  void OnReceived(uint64_t write) override { received_ = write; }
  void OnReleased(uint64_t) override {}
  void OnHave(uint64_t, uint32_t) override {}
  void OnFailed(const absl::Status& why) override { status_ = why; }

  // False: there was nothing to do.
  bool Work(replicate::Group& group) {
    if (received_ == 0 || !status_.ok()) return false;
    const uint64_t write = received_;
    received_ = 0;
    const absl::Status applied = log_.Apply(changes_);
    applied.ok() ? group.Acknowledge(write) : group.Fail(applied);
    return true;
  }
  // Why nothing more comes.
  const absl::Status& status() const { return status_; }

 private:
  ReplicaLog& log_;
  std::string changes_;
  uint64_t received_ = 0;  // a write that is not applied yet
  absl::Status status_;
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_REPLICAS_REPLICA_SESSION_H_
