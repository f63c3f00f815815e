// The calling end. A Client is a process's; a Connection leads to one server; a PendingCall is one of several calls
// that a thread has under way at once.
//
//   rpc::Client client({});
//   auto connection = client.Connect("10.0.0.1:7000", absl::Seconds(1));
//   absl::StatusOr<std::string> reply = (*connection)->Call(kEcho, "hello");
//
//   rpc::PendingCall calls[8];
//   for (rpc::PendingCall& call : calls) (*connection)->Start(call, kEcho, "hello");
//   for (rpc::PendingCall& call : calls) if ((*connection)->Wait(call).ok()) Use(call.reply());
#ifndef SKEIN_CORE_RPC_CLIENT_H_
#define SKEIN_CORE_RPC_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/base/unique_fd.h"
#include "core/rpc/client_port.h"
#include "core/rpc/options.h"
#include "core/rpc/regions.h"
#include "core/rpc/remote_memory.h"

namespace skein::rpc {

class Connection;

// One thread's at a time. Used again and again, it keeps its place and its memory. Destroyed while the call is under
// way, it forgets it: the answer is dropped.
class PendingCall {
 public:
  PendingCall() = default;
  ~PendingCall();
  PendingCall(const PendingCall&) = delete;
  PendingCall& operator=(const PendingCall&) = delete;

  // After a Wait that was OK, until the next Start.
  absl::string_view reply() const { return answer_.bytes; }
  // The same, to keep.
  std::string TakeReply() { return std::move(answer_.bytes); }

 private:
  friend Connection;

  bool BeginOn(const std::shared_ptr<ClientPort>& port);
  // Its answer, or if it is not `done`, that its time is up.
  absl::Status End(bool done);
  void Forget();

  std::shared_ptr<ClientPort> port_;
  Slot* slot_ = nullptr;
  Answer answer_;
  bool under_way_ = false;  // from Start to the Wait that gave its answer
};

struct CallRequest {
  PendingCall* call = nullptr;
  uint32_t handler = 0;
  absl::string_view bytes;  // may go when Start returns
};

// Any thread may call any method. Waiting: one of the threads that wait for this server's answers polls, or sleeps for
// all; nobody polls when nobody waits.
class Connection {
 public:
  // `lifeline`, whose descriptor `tcp` is, may be null; `on_end` is called when all is over.
  Connection(std::shared_ptr<ClientPort> port, std::shared_ptr<link::Lifeline> lifeline, UniqueFd tcp,
             std::function<void()> on_end);
  // Calls under way fail with CANCELLED.
  ~Connection();

  // The reply, or the error that the handler gave. DEADLINE_EXCEEDED: it may have been handled, or may be yet.
  // UNAVAILABLE: the server is lost, likewise. RESOURCE_EXHAUSTED: too large, or as many calls under way as it takes.
  absl::StatusOr<std::string> Call(uint32_t handler, absl::string_view request,
                                   absl::Duration timeout = absl::InfiniteDuration());

  // Does not wait. What goes wrong is the answer of its Wait, which must come before the next Start.
  void Start(PendingCall& call, uint32_t handler, absl::string_view request);
  // The same for several, which travel together.
  void Start(absl::Span<const CallRequest> requests);
  // The call is over when this returns, even for lack of time.
  absl::Status Wait(PendingCall& call, absl::Duration timeout = absl::InfiniteDuration());

  // The server's memory of that number, to be used by this connection without the server's processor (but for atomics
  // of regions with kServerAtomic). Of the operations, see remote_memory.h.
  absl::StatusOr<RemoteRegion> Attach(uint32_t number, absl::Duration timeout = absl::InfiniteDuration());
  absl::Status Read(const RemoteRegion& region, uint64_t offset, absl::Span<std::byte> to) {
    return memory_.Read(region, offset, to);
  }
  absl::Status Write(const RemoteRegion& region, uint64_t offset, absl::Span<const std::byte> from) {
    return memory_.Write(region, offset, from);
  }
  // At a multiple of 8. What was there.
  absl::StatusOr<uint64_t> FetchAdd(const RemoteRegion& region, uint64_t offset, uint64_t addend);
  absl::StatusOr<uint64_t> CompareSwap(const RemoteRegion& region, uint64_t offset, uint64_t expected,
                                       uint64_t desired);

  // The fabric's name: "shm".
  absl::string_view path() const { return port_->link().fabric_name(); }
  // Why no call can be made any more; OK if one can.
  absl::Status error() const { return port_->error(); }

 private:
  absl::StatusOr<uint64_t> ServerAtomic(const AtomicRequest& request);

  const std::shared_ptr<ClientPort> port_;
  const std::shared_ptr<link::Lifeline> lifeline_;
  const UniqueFd tcp_;
  RemoteMemory memory_;
  const std::function<void()> on_end_;
};

// Any thread. Connections may outlive it.
class Client {
 public:
  explicit Client(const Options& options);
  ~Client();

  // The server's process is shared with earlier connections to it, where there are any. UNAVAILABLE, or why no fabric
  // leads there.
  absl::StatusOr<std::unique_ptr<Connection>> Connect(absl::string_view address, absl::Duration timeout);

 private:
  class Impl;
  const std::shared_ptr<Impl> impl_;
};

}  // namespace skein::rpc

#endif  // SKEIN_CORE_RPC_CLIENT_H_
