// The one outstanding read that a TCP endpoint may have, as an object that can change hands: a read cannot be taken
// back, so a negotiation that gives up waiting leaves it to whoever uses the connection next.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_TCP_READER_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_TCP_READER_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "core/base/lost_at_fork.h"
#include "core/base/mutex.h"
#include "grpc_transport/event_engine/engine_types.h"

namespace skein::grpc_transport {

// Any thread. Lock: mu_, under which the endpoint is asked to read (an EventEngine calls back later, never from within
// Read). The read that is out keeps this object. In a forked
// child whose parent held the lock every read fails.
class TcpReader : public std::enable_shared_from_this<TcpReader> {
 public:
  using OnDone = absl::AnyInvocable<void(absl::Status)>;

  // The endpoint's owner calls Detach before the endpoint goes.
  TcpReader(EventEngine::Endpoint* tcp, std::shared_ptr<EventEngine> engine) : engine_(std::move(engine)), tcp_(tcp) {}

  // `on_done` runs by the engine, not in this call, when bytes have arrived, or with the error. One at a time. Starts a
  // read unless one is out.
  void Read(OnDone on_done);
  // Starts a read that nobody awaits yet, unless one is out: the next reader is told of what it brings.
  void ReadAhead();
  // Forgets what was given to Read. False: it is on its way already.
  bool Withdraw();
  // Moves what has arrived to the end of `out`.
  void MoveInto(SliceBuffer& out);
  // Nothing is out and nothing is kept: the endpoint may be read directly.
  bool idle();
  // Nothing is to be read any more but its end, or an error: as far as is known.
  bool HasEnded();
  // The endpoint goes. A read that is out ends by that, and its caller is told.
  void Detach();

 private:
  // True: bytes have come at once.
  bool Start() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Arrived(absl::Status status);
  void Tell(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<EventEngine> engine_;
  Mutex mu_;
  LostAtFork mu_lost_{mu_};
  EventEngine::Endpoint* tcp_ ABSL_GUARDED_BY(mu_);
  SliceBuffer incoming_;  // the endpoint's while a read is out, else guarded by mu_
  bool out_ ABSL_GUARDED_BY(mu_) = false;
  bool completed_ ABSL_GUARDED_BY(mu_) = false;  // with nobody waiting
  absl::Status error_ ABSL_GUARDED_BY(mu_);
  OnDone on_done_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_TCP_READER_H_
