// A Thrift connection's calls, as far as a transport can tell them: what is written and then answered, one at a time.
//
// A client's call begins with the first byte written and ends with the first that is read after it; a server's begins
// with the bytes that it reads and ends when it has written. The service's own code lies between: Thrift's protocol and
// it are one to a transport. Oneway calls and pipelined ones are told as one with the next.
#ifndef SKEIN_THRIFT_TRANSPORT_CALL_TRACE_H_
#define SKEIN_THRIFT_TRANSPORT_CALL_TRACE_H_

#include <atomic>
#include <cstddef>
#include <string>

#include "core/link/hop.h"
#include "core/trace/tracer.h"

namespace skein::thrift_transport {

// One thread may read while another writes: the record is whose turn it is.
class CallTrace {
 public:
  // `path`: of the stream, "shm" or "rdma:DEVICE".
  CallTrace(bool client, const std::string& path);

  // The writer's: before the first byte of a message, and around the stream's write of `bytes`.
  void Gathers() {
    if (trace::Enabled()) [[unlikely]]
      BeginGathering();
  }
  void Sends() {
    if (trace::Enabled()) [[unlikely]]
      BeginSending();
  }
  void Sent(size_t bytes) {
    if (sending_) [[unlikely]]
      EndSending(bytes);
  }
  // The reader's, while tracing is on: bytes have come.
  void Came(const link::Arrival& arrival);

 private:
  void BeginGathering();
  void BeginSending();
  void EndSending(size_t bytes);
  uint64_t OnOneHost(uint64_t peers) const { return record_.path == trace::Path::kShm ? peers : 0; }

  const bool client_;
  // Release by who has filled record_ in, acquire by who takes it: at a client the writer fills and the reader takes,
  // at a server the other way round.
  std::atomic<bool> filled_ = false;
  trace::Record record_;
  bool sending_ = false;    // the writer's
  uint64_t gathering_ = 0;  // the writer's: since when; 0: not traced
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_CALL_TRACE_H_
