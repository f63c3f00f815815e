// A server's connection of durable calls.
#ifndef SKEIN_THRIFT_TRANSPORT_DURABLE_CONNECTION_H_
#define SKEIN_THRIFT_TRANSPORT_DURABLE_CONNECTION_H_

#include <thrift/transport/TTransport.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/durable/calls/call_service.h"
#include "thrift_transport/durable_line.h"

namespace skein::thrift_transport {

// The thread that serves it reads; one of its own writes, so that whoever has something to say waits for no client.
class DurableConnection {
 public:
  // Bytes that wait for a client to read.
  struct Limits {
    // Or one message: beyond that the connection ends behind them. A reply that comes now may be kept nowhere else.
    uint64_t unsent;
    // Beyond that nobody may ask for a reply of before, which costs nothing, again and again: the connection ends
    // behind them, and the client may come back for the rest. What is being written counts here.
    uint64_t asked_for = uint64_t{16} << 20;
  };
  DurableConnection(std::shared_ptr<apache::thrift::transport::TTransport> transport, uint64_t longest_message,
                    const Limits& limits);

  // Returns at the connection's end. Throws what the transport does, and TTransportException (CORRUPTED_DATA) for what
  // no client sends. Once.
  void Serve(durable::CallService& service) ABSL_LOCKS_EXCLUDED(mu_);
  // Any thread, as long as it is there: what was said before is the last, and then the end.
  void End() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Cut() { line_.Cut(); }
  std::thread StartWriter();
  void Read(durable::CallSession& session) ABSL_LOCKS_EXCLUDED(mu_);
  void Say(const std::string& message) ABSL_LOCKS_EXCLUDED(mu_);
  void RunWriter() ABSL_LOCKS_EXCLUDED(mu_);
  bool ended() ABSL_LOCKS_EXCLUDED(mu_);
  bool said_all() ABSL_LOCKS_EXCLUDED(mu_);

  DurableLine line_;
  const Limits limits_;
  Mutex mu_;
  std::condition_variable_any writer_wakes_;
  bool said_ ABSL_GUARDED_BY(mu_) = false;  // something, for the writer
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  bool said_all_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_DURABLE_CONNECTION_H_
