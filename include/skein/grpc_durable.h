// Durable calls of gRPC: unary calls that are safe in the server's redo log before they are executed, and are executed
// once, over crashes of the server. Over any transport, Skein's or not; of gRPC, only its public interface is used.
//
//   // the server: its services stay as they are
//   auto durable = skein::grpc_transport::DurableService::Open({.path = "/var/lib/counter/redo.log"});
//   builder.RegisterService(&counter).RegisterService((*durable)->service());
//   auto server = builder.BuildAndStart();
//   (*durable)->Start(*server);      // executes what a crash left unfinished, then what comes
//   ...
//   (*durable)->Stop();              // before server->Shutdown()
//
//   // the client: its stubs stay as they are
//   auto channel = skein::grpc_transport::CreateDurableChannel(target, credentials, arguments, {});
//   auto stub = Counter::NewStub(channel);
//   stub->Add(&context, request, &reply);
#ifndef SKEIN_GRPC_DURABLE_H_
#define SKEIN_GRPC_DURABLE_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/channel_arguments.h>
#include <skein/export.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace skein::grpc_transport {

// A call that was executed, and whose reply is safe.
struct DurableReply {
  uint64_t position = 0;  // in the log; greater than that of any before
  std::string client;     // 16 bytes; a process that knows them can pass for that client: not for logs
  uint64_t sequence = 0;  // of its calls, from 1
  std::string method;     // "/package.Service/Method"
  std::string message;    // the reply's bytes
};

struct DurableServiceOptions {
  // The redo log: persistent memory where the file lies in some, else an ordinary disk. One process at a time.
  std::string path;
  uint64_t bytes = uint64_t{64} << 20;  // all taken when it is made; of an existing log, its size
  // "host:port" of each replica of the log (`skein durable replica`): it gets all that is written to the log.
  std::vector<std::string> replicas = {};
  // So many logs, this one included, have what is acknowledged: calls, and replies. 0: all of them. While fewer have
  // it, calls wait, and Stop; after `replica_patience` the log takes nothing more, as if its disk had failed.
  uint32_t acknowledge = 0;
  std::chrono::seconds replica_patience{30};
  // Threads that execute calls; of one client, one call at a time, in order. With more than one thread, a call may see
  // the effects of another client's call whose reply is not safe yet: after a crash that call is executed again, behind
  // it.
  int threads = 4;
  // Bytes of a call's message and metadata; larger ones are RESOURCE_EXHAUSTED at the client, by themselves. The
  // server's SetMaxReceiveMessageSize (4 MiB unless told otherwise) is to be above that, by 1 KiB.
  uint64_t max_call_bytes = (uint64_t{4} << 20) - 1024;
  // Bytes of a reply and its trailing metadata; a larger one is RESOURCE_EXHAUSTED for its caller, and no reply. The
  // server's SetMaxSendMessageSize (none unless told otherwise) is to be above that, by 1 KiB.
  uint64_t max_reply_bytes = (uint64_t{4} << 30) - 2048;
  uint64_t slow_calls = 1024;  // with more that are not finished, clients are asked to send fewer at a time
  // Replies are kept for clients that come back, until the client has them, or there are so many newer ones, or they
  // are older than `kept_for`, or take a quarter of the log. After a crash, replies that the client has already had
  // count, too.
  uint64_t kept_replies = uint64_t{64} << 10;
  std::chrono::seconds kept_for{600};
  uint64_t clients = 0;  // that are known at a time; 0: up to 16,384, as the log's size allows
  // Whether a connected client may make durable calls: these reach the services without the client's own
  // authentication, over a connection of the server with itself. Empty: every client that can connect may. Streams are
  // not called: UNIMPLEMENTED; but the server cannot tell which methods of services other than protobuf's are streams,
  // and a stream that does not end keeps a thread.
  std::function<bool(const grpc::CallbackServerContext& context)> admit = nullptr;
  // The log has space for every reply of so many bytes: it sets the space aside when it accepts the call.
  uint64_t reserved_reply_bytes = 256;
  // For services whose state is made of their replies: called with each reply as soon as it is safe, in the order of
  // positions, before its client hears of it, by a thread that persists. Then the log keeps all replies until
  // Checkpoint. A reply that is larger than reserved_reply_bytes and for which the log has no space is dropped: its
  // call ends with RESOURCE_EXHAUSTED. Calls that fail have no reply.
  std::function<void(const DurableReply& reply)> on_reply = nullptr;
};

// Any thread. As every service, it outlives its server.
class SKEIN_EXPORT DurableService {
 public:
  // Opens the log, or makes it. FAILED_PRECONDITION: it is another process's, or of another size; PERMISSION_DENIED:
  // others could read it; RESOURCE_EXHAUSTED: the disk is full; INVALID_ARGUMENT: it is too small, or there are no
  // threads; DATA_LOSS: it is damaged. With replicas, FAILED_PRECONDITION, too, if this log is a replica's, or another
  // one was promoted; INVALID_ARGUMENT: an address is none, or a SKEIN_* variable has a value that is not allowed;
  // UNAVAILABLE: too few of them follow.
  static absl::StatusOr<std::unique_ptr<DurableService>> Open(const DurableServiceOptions& options);
  // Stops. The server must be gone.
  ~DurableService();

  grpc::Service* service();
  // When `server` has been built with the service: calls its services for what was not finished, then for what comes.
  // Their handlers see the metadata that clients send along, and kDurableClient, kDurableSequence.
  void Start(grpc::Server& server);
  // Ends the clients' streams, waits for running handlers. Calls that are not executed wait for the next opening. Call
  // it before the server's Shutdown, which cuts handlers off: their calls are executed again at the next opening, and
  // so is a call whose handler returns UNAVAILABLE or CANCELLED at that moment. Any thread; idempotent.
  void Stop();

  // With options.on_reply. Before Start: the replies that are safe, behind `position`, as they were given. Checkpoint:
  // the effects of those up to `position` are safe elsewhere, and the log need not keep them. A service that fails to
  // write them down must try again by itself: a log that is full of replies takes no calls, so no further reply comes.
  absl::Status ForEachReply(uint64_t position, const std::function<void(const DurableReply& reply)>& visit);
  void Checkpoint(uint64_t position);

  // "persistent", "emulated": what acknowledgements claim.
  std::string level() const;
  // OK, or why the log takes nothing more.
  absl::Status health() const;
  uint64_t unfinished() const;

 private:
  class SKEIN_PRIVATE Impl;
  SKEIN_PRIVATE explicit DurableService(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

// Metadata that a handler sees: the client, 16 bytes; and the number of its call, from 1. A call that is executed again
// after a crash has the same two: by these a handler can make its own effects happen once. A process that knows the 16
// bytes can pass for that client: they are not for logs.
inline constexpr char kDurableClient[] = "skein-durable-client-bin";
inline constexpr char kDurableSequence[] = "skein-durable-sequence";

struct DurableChannelOptions {
  // Every unary call. False: only those that are marked (DurableMark).
  bool every_call = true;
  // The least that acknowledgements must claim: "visible", "cpu-flushed", "flushed", "persistent", or "emulated".
  // Empty: the level that the server has. A server with a lesser one: FAILED_PRECONDITION.
  std::string level;
  // Names of metadata that are logged and replayed with a call. Others of a durable call go nowhere.
  std::vector<std::string> metadata;
  // Calls not answered, and bytes of their requests: with more, RESOURCE_EXHAUSTED.
  uint64_t max_calls = 4096;
  uint64_t max_bytes = uint64_t{64} << 20;
};

// A channel whose unary calls are durable, with stubs of any messages. The calls travel in one stream, in the order in
// which they were started. A call whose server is lost waits for the server to come back, and then goes on: the channel
// sends calls again that had not been persisted. Without a deadline a call waits for ever; at its deadline the caller
// gets DEADLINE_EXCEEDED, and the server may still execute a call that had been started. Deadline and cancellation are
// the context's own: those of a server's context (ClientContext::FromServerContext) do not reach a durable call.
// INVALID_ARGUMENT: no such level.
SKEIN_EXPORT absl::StatusOr<std::shared_ptr<grpc::Channel>> CreateDurableChannel(
    const std::string& target, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    const grpc::ChannelArguments& arguments, const DurableChannelOptions& options);

// Called once, before the reply is given, by a thread of gRPC's: the level, "persistent" say; or why it will not be
// persisted, or why the call ends before that is known: its deadline, say.
using OnPersisted = std::function<void(const absl::StatusOr<std::string>& level)>;

// Makes the call that `context` is for durable on such a channel, and hears when it is persisted. Lives until the call
// has been started.
class SKEIN_EXPORT DurableMark {
 public:
  DurableMark(grpc::ClientContext& context, OnPersisted on_persisted);
  ~DurableMark();
  DurableMark(const DurableMark&) = delete;
  DurableMark& operator=(const DurableMark&) = delete;

 private:
  const uint64_t number_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_DURABLE_H_
