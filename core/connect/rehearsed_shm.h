// Shared memory of this process, which nobody is given before a rehearsal of it has succeeded.
#ifndef SKEIN_CORE_CONNECT_REHEARSED_SHM_H_
#define SKEIN_CORE_CONNECT_REHEARSED_SHM_H_

#include <future>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/mutex.h"
#include "core/base/options.h"
#include "core/channel/channel.h"

namespace skein::connect {

// A rehearsal finds out what the kernel refuses before anything is offered or accepted: at the first connection, and
// again when a connection has met a refusal since. After either, shared memory is left alone for the retry delay, lest
// each connection ended by the same refusal.
//
// Any thread. The caller that finds no transport rehearses, and holds no lock meanwhile. Other callers wait for the
// result of that one rehearsal, and no longer than until kPatience after its beginning. A child made by fork() in
// between never has the result, and waits no longer either. mu_ is held over Transport::Usable(), whose lock is a leaf.
class RehearsedShm {
 public:
  using Result = absl::StatusOr<std::shared_ptr<channel::Transport>>;

  // A rehearsal takes some 0.2 ms. A refused caller is on TCP for as long as its connection lasts, so the wait outlasts
  // a rehearsal on a machine that is very busy.
  static constexpr absl::Duration kPatience = absl::Seconds(1);

  RehearsedShm(const SharedMemoryOptions& options, absl::Duration retry_delay)
      : options_(options), retry_delay_(retry_delay) {}

  // The transport, or why there is none now.
  Result Get();

 private:
  Result Rehearse() const;
  static Result Await(const std::shared_future<Result>& result, absl::Time until);
  void Keep(const Result& result);
  void LeaveAlone(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const SharedMemoryOptions options_;
  const absl::Duration retry_delay_;
  Mutex mu_;
  std::shared_ptr<channel::Transport> transport_ ABSL_GUARDED_BY(mu_);
  absl::Status refused_ ABSL_GUARDED_BY(mu_);  // why not before again_
  absl::Time again_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  std::shared_future<Result> under_way_ ABSL_GUARDED_BY(mu_);  // valid while a caller rehearses
  absl::Time began_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::connect

#endif  // SKEIN_CORE_CONNECT_REHEARSED_SHM_H_
