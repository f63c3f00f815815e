// How links are polled inside gRPC: a link's descriptor is one of the polling engine's, so whichever thread waits in
// gRPC wakes, polls the link and runs what became ready. One that is busy is polled before that (busy_set.h).
//
// gRPC's shutdown waits for all descriptors of the engine to be given back. So they are, whenever the last user (a
// Skein endpoint or a negotiation) goes: what is idle is then dropped; what has yet to tell its peer something lingers
// with a thread of its own, and is watched again when a user comes.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_WAITER_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_WAITER_H_

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/wait/background_poller.h"
#include "core/wait/busy_set.h"
#include "core/wait/source.h"
#include "core/wait/spin_budget.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

class Waiter final : public wait::Watcher {
 public:
  // While one exists, sources are watched.
  class User {
   public:
    explicit User(Waiter* waiter) : waiter_(waiter) { waiter_->UserComes(); }
    User(const User&) = delete;
    User& operator=(const User&) = delete;
    ~User() { waiter_->UserGoes(); }

    // A stream's link, for who is going to say of each write that it is busy. Null: it is not watched (any more).
    std::shared_ptr<wait::Busy> BusyOf(const wait::Source& source) { return waiter_->BusyOf(source); }
    wait::BusySet& busy_set() { return waiter_->busy_set_; }

   private:
    Waiter* const waiter_;
  };

  explicit Waiter(const wait::SpinPolicy& policy);
  ~Waiter() override;

  wait::BusySet& busy_set() { return busy_set_; }
  void Watch(std::shared_ptr<wait::Source> source) override;

 private:
  class BusySource;
  class Watched;

  std::shared_ptr<wait::Busy> BusyOf(const wait::Source& source);
  void UserComes();
  void UserGoes();
  // The watched source gives its descriptor back. False: it goes on, since there are users again.
  bool Stopped(Watched* watched);
  void StartLocked(std::shared_ptr<wait::Source> source) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;
  int users_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<grpc_core::RefCountedPtr<Watched>> watched_ ABSL_GUARDED_BY(mu_);
  wait::BusySet busy_set_;
  wait::BackgroundPoller background_;  // of what lingers; nothing does while there is a user
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_WAITER_H_
