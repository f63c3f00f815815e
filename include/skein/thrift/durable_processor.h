// A server's processor for durable calls: each is safe in a redo log before it is executed, by the processor that it is
// put in front of; what a crash left unfinished is executed when it starts again. Clients have a
// TSkeinDurableTransport.
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

namespace skein::durable {
class Storage;
}

namespace skein::thrift_transport {

// Which durable call is being executed. Executed again after a crash, it is the same: handlers whose effects lie
// outside of the log make them once by it ("last change 3f.../17").
struct TSkeinDurableCall {
  // 32 digits, anew each time that a client's program begins. Who knows them can be that client: not for logs.
  std::string client;
  uint64_t sequence = 0;  // of the client: 1, 2, and so on
};

// With TSimpleServer, TThreadedServer or TThreadPoolServer over TServerSocket or TSkeinServerSocket, and a
// TSkeinDurableTransportFactory: a connection has a thread of the server's for as long as it lasts. Not over TLS, whose
// sockets cannot be read and written at once.
//
// The inner processor is called by threads of this, with a null context, by several at once, and never twice for a call
// that has been finished. It may block. What it throws, its client gets as a TApplicationException.
class SKEIN_EXPORT TSkeinDurableProcessor : public apache::thrift::TProcessor {
 public:
  // Opens the log, and begins with what was not finished: what is given here is ready to be called. `protocol` is the
  // clients'. TTransportException: BAD_ARGS, an option is wrong; NOT_OPEN, the log cannot be used, or is less safe than
  // required, with the cause.
  TSkeinDurableProcessor(const std::shared_ptr<apache::thrift::TProcessor>& inner,
                         std::shared_ptr<apache::thrift::protocol::TProtocolFactory> protocol,
                         const TSkeinDurableServerOptions& options);
  // For tests of Skein's own: with a storage in place of options.path.
  TSkeinDurableProcessor(const std::shared_ptr<apache::thrift::TProcessor>& inner,
                         std::shared_ptr<apache::thrift::protocol::TProtocolFactory> protocol,
                         const TSkeinDurableServerOptions& options, std::unique_ptr<durable::Storage> storage);
  ~TSkeinDurableProcessor() override;

  // Of a durable client: all its calls, until its connection ends.
  bool process(std::shared_ptr<apache::thrift::protocol::TProtocol> in,
               std::shared_ptr<apache::thrift::protocol::TProtocol> out, void* context) override;

  // Ends durable clients' connections; waits for what is being executed, and until that is safe. The rest waits for the
  // next start. Any thread but a handler's; idempotent.
  void stop();

  // How safe a call is that its client knows as persisted.
  std::string getLevel() const;
  // Empty, or why nothing is taken any more.
  std::string getHealth() const;
  // Calls that are safe and not finished.
  uint64_t getUnfinished() const;

  // Of the handler that asks, on its thread; null where the call is not durable.
  static const TSkeinDurableCall* currentCall();

 private:
  class SKEIN_PRIVATE Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_DURABLE_PROCESSOR_H_
