// Calls and one-sided memory operations between processes, over shared memory or RDMA, without gRPC or Thrift.
//
// The calling end. A Client is a process's; a Connection leads to one server; a PendingCall is one of several calls
// that a thread has under way at once.
//
//   skein::rpc::Client client({});
//   auto connection = client.Connect("10.0.0.1:7000", absl::Seconds(1));
//   absl::StatusOr<std::string> reply = (*connection)->Call(kEcho, "hello");
//
//   skein::rpc::PendingCall calls[8];
//   for (auto& call : calls) (*connection)->Start(call, kEcho, "hello");
//   for (auto& call : calls) if ((*connection)->Wait(call).ok()) Use(call.reply());
//
// The answering end: handlers by number, and a thread of the program's that runs them.
//
//   skein::rpc::Server server({});
//   server.Handle(kEcho, [](absl::string_view request, skein::rpc::Reply reply) { reply.Send(request); });
//   absl::StatusOr<std::string> address = server.Listen("0.0.0.0:7000");
//   server.Serve();  // until Stop
//
// There is no TCP to fall back to: TCP carries the negotiation, and its end tells each process that the other has died.
// The library starts no threads.
#ifndef SKEIN_RPC_H_
#define SKEIN_RPC_H_

#include <skein/export.h>
#include <skein/options.h>

#include <cstddef>
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

namespace skein::rpc {

class ClientPort;
class Connection;
struct OnFabrics;
class ServerPort;
struct Slot;

// How both ends of calls behave. A value.
struct Options {
  SharedMemoryOptions shm;
  RdmaOptions rdma;
  size_t ring_bytes = 1 << 20;  // per link and direction; a message is at most a quarter of it
  uint32_t max_calls = 1024;  // that one connection may have outstanding; the answering end says it, at most kMaxCalls
  WaitMode wait_mode = WaitMode::kHybrid;
  absl::Duration spin_time = absl::Microseconds(50);      // of a wait, before it sleeps
  absl::Duration negotiation_timeout = absl::Seconds(1);  // that a server gives a client for its offer
  bool coalesce = true;  // false: every message by itself, to measure what coalescing gives
};

inline constexpr uint32_t kMaxCalls = 1 << 14;

// The operations that clients may do on a region of a server's memory, or'd together.
enum Access : uint32_t {
  kRemoteWrite = 1u << 0,
  kRemoteRead = 1u << 1,
  kRemoteAtomic = 1u << 2,  // by the device, whose atomics are not atomic to a processor
  kServerAtomic = 1u << 8,  // instead: by the server's processor, in its thread that serves
};

// A region as a client knows it. It serves the connection that attached it, as long as the server lives.
struct RemoteRegion {
  uint32_t number = 0;
  uint32_t access = 0;  // Access
  uint32_t rkey = 0;    // the device's name for it
  uint32_t zero = 0;
  uint64_t address = 0;  // where it begins, as the device counts
  uint64_t size = 0;     // bytes
};

// The end of a call.
struct Answer {
  absl::Status status;
  std::string bytes;
};

// One thread's at a time. A PendingCall that is used again keeps its place and its memory. If it is destroyed while its
// call is under way, the answer is dropped. It may outlive its connection.
class SKEIN_EXPORT PendingCall {
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

  SKEIN_PRIVATE bool BeginOn(const std::shared_ptr<ClientPort>& port);
  // Its answer, or if it is not `done`, that its time is up.
  SKEIN_PRIVATE absl::Status End(bool done);
  SKEIN_PRIVATE void Forget();

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
// all; nobody polls when nobody waits. Calls that threads start at the same time travel together.
class SKEIN_EXPORT Connection {
 public:
  class SKEIN_PRIVATE Impl;
  // Client::Connect makes them.
  SKEIN_PRIVATE explicit Connection(std::unique_ptr<Impl> impl);
  // Calls under way fail with CANCELLED. No thread is in a method.
  ~Connection();

  // The reply, or the error that the handler gave. DEADLINE_EXCEEDED: it may have been handled, or may be yet.
  // UNAVAILABLE: the server is lost, likewise. RESOURCE_EXHAUSTED: too large, or as many calls under way as it takes.
  // `request` may go when it returns.
  absl::StatusOr<std::string> Call(uint32_t handler, absl::string_view request,
                                   absl::Duration timeout = absl::InfiniteDuration());

  // Does not wait. Errors are those of the call's Wait, which must come before the next Start. `request` may go when it
  // returns.
  void Start(PendingCall& call, uint32_t handler, absl::string_view request);
  // The same for several, which travel together.
  void Start(absl::Span<const CallRequest> requests);
  // The call is over when this returns, even for lack of time. Errors as Call's.
  absl::Status Wait(PendingCall& call, absl::Duration timeout = absl::InfiniteDuration());

  // The server's memory of that number, to be used by this connection without the server's processor (but for atomics
  // of regions with kServerAtomic). NOT_FOUND: there is none. RESOURCE_EXHAUSTED: over shared memory a client has 64
  // regions of a server, of 4 GiB in all. FAILED_PRECONDITION: this connection is over shared memory, which was no way
  // when the server attached the region. Otherwise errors as Call's.
  absl::StatusOr<RemoteRegion> Attach(uint32_t number, absl::Duration timeout = absl::InfiniteDuration());

  // Each of these waits until it is done: the bytes are here, or there. `offset` counts bytes from the region's begin.
  // OUT_OF_RANGE, PERMISSION_DENIED: refused at this end. RESOURCE_EXHAUSTED: too many under way. UNAVAILABLE: the link
  // is lost, before or after. More than 16 KiB may go in several requests, in order: they are not read
  // or written as one.
  absl::Status Read(const RemoteRegion& region, uint64_t offset, absl::Span<std::byte> to);
  absl::Status Write(const RemoteRegion& region, uint64_t offset, absl::Span<const std::byte> from);
  // Of the 8 bytes at a multiple of 8, in the hosts' order. Gives what was there.
  absl::StatusOr<uint64_t> FetchAdd(const RemoteRegion& region, uint64_t offset, uint64_t addend);
  absl::StatusOr<uint64_t> CompareSwap(const RemoteRegion& region, uint64_t offset, uint64_t expected,
                                       uint64_t desired);

  // The fabric's name: "shm", "rdma:mlx5_0". As long as the connection.
  absl::string_view path() const;
  // Why no call can be made any more; OK if one can.
  absl::Status error() const;

 private:
  const std::unique_ptr<Impl> impl_;
};

// Any thread. Connections may outlive it.
class SKEIN_EXPORT Client {
 public:
  explicit Client(const Options& options);
  SKEIN_PRIVATE Client(const Options& options, const OnFabrics& on);
  ~Client();

  // `address`: "localhost:7000", "10.0.0.1:7000", "[::1]:7000"; anything else is INVALID_ARGUMENT. Connections to one
  // server process share a link. NOT_FOUND: no such host. UNAVAILABLE: nobody listens there, or why no fabric leads
  // there. DEADLINE_EXCEEDED.
  absl::StatusOr<std::unique_ptr<Connection>> Connect(absl::string_view address, absl::Duration timeout);

 private:
  class SKEIN_PRIVATE Impl;
  const std::shared_ptr<Impl> impl_;
};

// The right to answer one call, and the duty: if a Reply is destroyed unused, the call fails with INTERNAL. It may go
// to another thread. It may outlive the server; then Send and Fail do nothing.
class SKEIN_EXPORT Reply {
 public:
  Reply(Reply&&) noexcept = default;
  Reply& operator=(Reply&&) = delete;
  ~Reply();

  // Once, either. `bytes` may go when it returns. Too large a reply becomes RESOURCE_EXHAUSTED at the caller.
  void Send(absl::string_view bytes);
  // `error` is not OK: its code and message are what the caller is told.
  void Fail(const absl::Status& error);

 private:
  friend ServerPort;

  Reply(std::shared_ptr<ServerPort> port, uint32_t call) : port_(std::move(port)), call_(call) {}

  std::shared_ptr<ServerPort> port_;  // null: has answered
  uint32_t call_;
};

// `request` is valid during the call. Must not block: it keeps every caller waiting. One thread at a time: the one that
// serves.
using Handler = std::function<void(absl::string_view request, Reply reply)>;

inline constexpr uint32_t kFirstOwnHandler = 0xffffff00;  // handlers from here on are Skein's own

class SKEIN_EXPORT Server {
 public:
  explicit Server(const Options& options);
  SKEIN_PRIVATE Server(const Options& options, const OnFabrics& on);
  // Its connections end. Not while it serves. Replies that are still held may outlive it, and go nowhere.
  ~Server();

  // Before Listen, below kFirstOwnHandler. ALREADY_EXISTS; INVALID_ARGUMENT; FAILED_PRECONDITION when it listens
  // already.
  absl::Status Handle(uint32_t number, const Handler& handler);
  // Gives `bytes` zeroed bytes, which clients may use as `access` says (Access); they live as long as the server. The
  // program arranges its own use of them beside the clients'. ALREADY_EXISTS; RESOURCE_EXHAUSTED; INVALID_ARGUMENT:
  // kRemoteAtomic and kServerAtomic at once; FAILED_PRECONDITION: there is neither shared memory nor RDMA.
  absl::StatusOr<absl::Span<std::byte>> Attach(uint32_t number, size_t bytes, uint32_t access);
  // `address` as Client::Connect's. Gives it as numbers; port 0 takes any that is free. UNAVAILABLE and others: why the
  // kernel refuses it.
  absl::StatusOr<std::string> Listen(absl::string_view address);
  // Connects, polls, and runs the handlers on this thread, until Stop; after that the server is at its end. One thread
  // at a time. FAILED_PRECONDITION: it does not listen.
  absl::Status Serve();
  // Any thread, also from a handler.
  void Stop();

 private:
  class SKEIN_PRIVATE Impl;
  const std::shared_ptr<Impl> impl_;
};

}  // namespace skein::rpc

#endif  // SKEIN_RPC_H_
