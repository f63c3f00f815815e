// What the kernel has refused this process in the midst of connections, and for whose connections that counts.
#ifndef SKEIN_CORE_CHANNEL_SHM_REFUSALS_H_
#define SKEIN_CORE_CHANNEL_SHM_REFUSALS_H_

#include <sys/types.h>

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/base/fallback.h"
#include "core/base/mutex.h"

namespace skein::channel::shm {

// A peer chooses what it passes, and how large that is: it can run this process into a limit, or a security policy.
// So a refusal that came with a peer of another user is held against that user alone. The peer's address cannot stand
// for the peer: on one host all have the same. Processes of the own user are not held apart: no isolation is claimed
// against them, and an honest one that sandboxed itself late must not lose a connection for each.
//
// Any thread. Lock: mu_, a leaf.
class Refusals {
 public:
  explicit Refusals(absl::Duration settle_time) : settle_time_(settle_time) {}

  // `other_user`: the peer's, if not the process's own. Of the refusals that count for all, the first one stays: a
  // transport that is opened anew has none. Those that count for a user go after the settle time.
  void Note(const absl::Status& why, std::optional<uid_t> other_user) {
    MutexLock lock(&mu_);
    if (other_user.has_value()) {
      of_users_[*other_user] = {why, SteadyNow() + settle_time_};
    } else {
      of_all_.Update(why);
    }
  }
  absl::Status OfAll() const {
    MutexLock lock(&mu_);
    return of_all_;
  }
  // FallbackError: why peers of that user are to be left alone for now.
  absl::Status OfUser(uid_t user) const {
    MutexLock lock(&mu_);
    const auto found = of_users_.find(user);
    if (found == of_users_.end() || found->second.until <= SteadyNow()) return absl::OkStatus();
    const Fallback lately = FallbackOf(found->second.why);
    return FallbackError(lately.code, absl::StrCat("lately, with user ", user, ": ", lately.detail));
  }

 private:
  struct Recent {
    absl::Status why;
    absl::Time until;
  };
  const absl::Duration settle_time_;
  mutable Mutex mu_;
  absl::Status of_all_ ABSL_GUARDED_BY(mu_);
  // No more than ShmOptions::peer_users names: nobody else is met.
  absl::flat_hash_map<uid_t, Recent> of_users_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_REFUSALS_H_
