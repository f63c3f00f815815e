#include "core/connect/rehearsed_shm.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/deadline.h"
#include "core/base/descriptors_left.h"
#include "core/base/fallback.h"
#include "core/channel/shm/rehearsal.h"
#include "core/channel/shm/shm_transport.h"

namespace skein::connect {

RehearsedShm::Result RehearsedShm::Get() {
  std::promise<Result> own;
  std::shared_future<Result> others;
  absl::Time until;
  {
    MutexLock lock(&mu_);
    if (transport_ != nullptr && !transport_->Usable().ok()) LeaveAlone(std::exchange(transport_, nullptr)->Usable());
    if (transport_ != nullptr) return transport_;
    const absl::Time now = SteadyNow();
    if (now < again_) return refused_;
    others = under_way_;
    if (!others.valid()) {
      if (absl::Status few = CheckDescriptorsLeft(channel::kShmRehearsalDescriptors); !few.ok()) return few;
      under_way_ = own.get_future().share();
      began_ = now;
    }
    until = began_ + kPatience;
  }
  if (others.valid()) return Await(others, until);
  Result result = Rehearse();
  Keep(result);
  own.set_value(result);
  return result;
}

RehearsedShm::Result RehearsedShm::Rehearse() const {
  if (absl::Status status = channel::RehearseShmChannel(); !status.ok()) return status;
  return channel::OpenShm(
      {.peer_users = options_.peer_users, .settle_time = retry_delay_, .rendezvous = options_.rendezvous});
}

RehearsedShm::Result RehearsedShm::Await(const std::shared_future<Result>& result, absl::Time until) {
  if (result.wait_for(absl::ToChronoNanoseconds(until - SteadyNow())) == std::future_status::ready) return result.get();
  const std::string patience = absl::FormatDuration(kPatience);
  return FallbackError(FallbackCode::kTimeout,
                       absl::StrCat("a rehearsal of shared memory within one process has not ended in ", patience));
}

void RehearsedShm::Keep(const Result& result) {
  MutexLock lock(&mu_);
  under_way_ = {};
  if (!result.ok()) return LeaveAlone(result.status());
  transport_ = *result;
}

void RehearsedShm::LeaveAlone(const absl::Status& why) {
  const Fallback lately = FallbackOf(why);
  refused_ = FallbackError(lately.code, absl::StrCat("lately: ", lately.detail));
  again_ = SteadyNow() + retry_delay_;
}

}  // namespace skein::connect
