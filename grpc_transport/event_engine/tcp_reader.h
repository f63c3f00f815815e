// The one outstanding read that a TCP endpoint of gRPC's may have, as an object that can change hands: a read cannot be
// taken back, so a negotiation that gives up waiting leaves it to whoever uses the connection next.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_TCP_READER_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_TCP_READER_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"
#include "grpc_transport/event_engine/engine_types.h"

namespace skein::grpc_transport {

// Any thread. Lives until its last read has ended, which the endpoint's destruction sees to.
class TcpReader : public std::enable_shared_from_this<TcpReader> {
 public:
  using OnDone = absl::AnyInvocable<void(absl::Status)>;

  // `tcp` lives longer than anybody calls Read.
  explicit TcpReader(EventEngine::Endpoint* tcp) : tcp_(tcp) {}
  TcpReader(const TcpReader&) = delete;
  TcpReader& operator=(const TcpReader&) = delete;

  // When bytes have come, or the connection has failed: now, or in a callback of gRPC's. One at a time. Starts a read
  // unless one is out. Under no lock that `on_done` takes.
  void Read(OnDone on_done);
  // Forgets the callback given to Read. False: it has been called, or is about to be.
  bool Withdraw();
  // Moves what has come to the end of `out`.
  void MoveInto(SliceBuffer& out);
  // Nothing is out and nothing is kept: the endpoint may be read directly.
  bool idle();

 private:
  void Ended(absl::Status status);

  EventEngine::Endpoint* const tcp_;
  Mutex mu_;
  SliceBuffer incoming_;  // the endpoint's while a read is out, else guarded by mu_
  bool out_ ABSL_GUARDED_BY(mu_) = false;
  bool completed_ ABSL_GUARDED_BY(mu_) = false;  // with nobody waiting
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  OnDone on_done_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_TCP_READER_H_
