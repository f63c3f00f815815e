// A client's transport for durable calls: the server has each one safe in its redo log before it executes it, once,
// whatever crashes in between. It stands where a TBufferedTransport or TFramedTransport would; the server has a
// TSkeinDurableProcessor.
//
//     auto transport = std::make_shared<TSkeinDurableTransport>(
//         [] { return std::make_shared<TSkeinSocket>("host", 9090); });
//     LedgerClient client(std::make_shared<TBinaryProtocol>(transport));
//     transport->open();
//     client.note("...");          // oneway
//     transport->waitPersisted();  // now no crash can lose it
//
// A message that is flushed is a call. As long as the transport is open it is sent until a server says that it is safe,
// over as many connections as that takes; then it is sent no more, and its reply is asked for. A server that comes back
// executes what is safe and was not finished, without its client.
#ifndef SKEIN_THRIFT_DURABLE_TRANSPORT_H_
#define SKEIN_THRIFT_DURABLE_TRANSPORT_H_

#include <skein/export.h>
#include <skein/thrift/durable_options.h>
#include <thrift/transport/TVirtualTransport.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace skein::thrift_transport {

class DurableClient;

// Of a call: how safe it is, or why it has failed.
struct TSkeinPersisted {
  uint64_t call = 0;  // its number: the first that was flushed is 1
  std::string level;  // empty: it has failed
  std::string error;
};

// One thread may write and flush while another reads or waits, as a TConcurrentClientSyncInfo's clients do. There is no
// thread of Skein's: a thread hears news of calls when it reads, waits or flushes, and only then. No thread may be in a
// call of the transport when it is closed or destroyed.
//
// Deadlines are those of the connections that `connect` makes: when one of these times out, the waiting thread gets
// TTransportException (TIMED_OUT), and the call goes on. Close after that, as with a TSocket: the next reply would be
// another call's.
//
// Other errors are the end of all calls, and the transport is not open any more: NOT_OPEN, with the cause, when no
// connection came about within options.reconnect, or the server's log does not give the level that is wanted; UNKNOWN
// when the server's log takes nothing more; CORRUPTED_DATA when it is no such server. The server executes persisted
// calls all the same. It may or may not execute the others, unless open() is called again: then they are not sent
// again, and not executed if they had not been safe.
class SKEIN_EXPORT TSkeinDurableTransport
    : public apache::thrift::transport::TVirtualTransport<TSkeinDurableTransport> {
 public:
  // Makes the connection below, open or not: a TSkeinSocket, a TSocket. Called again when the connection is lost. An
  // exception from it counts as a connection that fails.
  using Connect = std::function<std::shared_ptr<apache::thrift::transport::TTransport>()>;
  // Once for each call, before its reply can be read. On a thread that reads, waits, flushes or closes; it calls
  // nothing of the transport.
  using OnPersisted = std::function<void(const TSkeinPersisted& persisted)>;

  // TTransportException (BAD_ARGS): an option is wrong.
  explicit TSkeinDurableTransport(Connect connect, const TSkeinDurableClientOptions& options = {},
                                  const std::shared_ptr<apache::thrift::TConfiguration>& config = {});
  ~TSkeinDurableTransport() override;

  // Connects, once, and returns when the server takes durable calls.
  void open() override;
  // Calls without an answer are given up: wait for them before, if that matters.
  void close() override;
  bool isOpen() const override;

  // The bytes of the replies, in the order of their calls; waits for them.
  uint32_t read(uint8_t* buf, uint32_t len);
  uint32_t readEnd() override;
  void write(const uint8_t* buf, uint32_t len);
  // Starts the call. Waits while options.max_calls calls have no answer, but not for a connection. UNKNOWN: larger than
  // the server's log takes; the transport stays open.
  void flush() override;

  // The number of the call that was flushed last; the first call is 1.
  uint64_t lastCall() const;
  // Returns when all calls that were flushed before are persisted, with the level ("persistent"); empty if there was
  // none. Throws if a call has failed since the last waitPersisted.
  std::string waitPersisted();
  void onPersisted(OnPersisted callback);

 private:
  const std::unique_ptr<DurableClient> client_;
  std::string written_;
  std::string reply_;  // what is left of it
  size_t taken_ = 0;
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_DURABLE_TRANSPORT_H_
