// A server's processor for durable calls: each is safe in a redo log before the inner processor executes it; calls that
// a crash left unfinished are executed when the server starts again. Clients have a TSkeinDurableTransport.
//
//     TSkeinDurableServerOptions options;
//     options.path = "/var/lib/ledger/calls.log";
//     auto processor = std::make_shared<TSkeinDurableProcessor>(
//         std::make_shared<LedgerProcessor>(handler), std::make_shared<TBinaryProtocolFactory>(), options);
//     TThreadedServer server(processor, std::make_shared<TSkeinServerSocket>(9090),
//                            std::make_shared<TSkeinDurableTransportFactory>(),
//                            std::make_shared<TBinaryProtocolFactory>());
//
// Clients whose calls are not durable come to the same port, and to the inner processor as before.
#ifndef SKEIN_THRIFT_DURABLE_PROCESSOR_H_
#define SKEIN_THRIFT_DURABLE_PROCESSOR_H_

#include <skein/export.h>
#include <skein/thrift/durable_options.h>
#include <thrift/TProcessor.h>
#include <thrift/protocol/TProtocol.h>

#include <cstdint>
#include <memory>
#include <string>

namespace skein::thrift_transport {

// The durable call that is being executed. It is the same when the call is executed again after a crash: by it handlers
// whose effects lie outside of the log make them once ("last change 3f.../17").
struct TSkeinDurableCall {
  // 32 digits, anew each time that a client's program begins. A process that knows them can pass for that client: not
  // for logs.
  std::string client;
  uint64_t sequence = 0;  // of the client: 1, 2, and so on
};

// With TSimpleServer, TThreadedServer or TThreadPoolServer over TServerSocket or TSkeinServerSocket, and a
// TSkeinDurableTransportFactory: a connection has a thread of the server's for as long as it lasts. Not over TLS, whose
// sockets cannot be read and written at once.
//
// Threads of this processor call the inner one, with a null context, several at once, and never twice for a call that
// has been finished. It may block. The client gets its exceptions as a TApplicationException.
class SKEIN_EXPORT TSkeinDurableProcessor : public apache::thrift::TProcessor {
 public:
  // Opens the log, and begins with the unfinished calls: the inner processor must be ready to be called. `protocol` is
  // the clients'. TTransportException: BAD_ARGS, an option is wrong; NOT_OPEN, the log cannot be used, or is less safe
  // than required, with the cause.
  TSkeinDurableProcessor(const std::shared_ptr<apache::thrift::TProcessor>& inner,
                         std::shared_ptr<apache::thrift::protocol::TProtocolFactory> protocol,
                         const TSkeinDurableServerOptions& options);
  class SKEIN_PRIVATE Impl;
  SKEIN_PRIVATE explicit TSkeinDurableProcessor(std::unique_ptr<Impl> impl);
  ~TSkeinDurableProcessor() override;

  // Processes all calls of a durable client, until its connection ends.
  bool process(std::shared_ptr<apache::thrift::protocol::TProtocol> in,
               std::shared_ptr<apache::thrift::protocol::TProtocol> out, void* context) override;

  // Ends durable clients' connections; waits until running calls have ended and their outcomes are safe. Other calls
  // wait for the next start. Any thread but a handler's; idempotent.
  void stop();

  // The level that calls have which their clients know as persisted.
  std::string getLevel() const;
  // Empty, or why the log takes nothing any more.
  std::string getHealth() const;
  // Calls that are safe and not finished.
  uint64_t getUnfinished() const;

  // The call of the handler that asks, on the handler's thread; null where the call is not durable.
  static const TSkeinDurableCall* currentCall();

 private:
  const std::unique_ptr<Impl> impl_;
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_DURABLE_PROCESSOR_H_
