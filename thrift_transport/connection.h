// A stream as a transport of Thrift's: what is written is gathered until it is flushed, what has arrived is read from
// where it lies. Statuses become exceptions here.
#ifndef SKEIN_THRIFT_TRANSPORT_CONNECTION_H_
#define SKEIN_THRIFT_TRANSPORT_CONNECTION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "core/stream/blocking_stream.h"
#include "core/stream/readiness.h"
#include "thrift_transport/arrived.h"
#include "thrift_transport/call_trace.h"
#include "thrift_transport/unflushed.h"
#include "thrift_transport/write_after_the_end.h"

namespace skein::thrift_transport {

// One thread may read while another writes.
class Connection {
 public:
  // `reminders`: null where none are to be had; then each write is sent at once.
  Connection(bool client, std::unique_ptr<stream::BlockingStream> stream, std::shared_ptr<wait::Reminders> reminders)
      : stream_(std::move(stream)),
        client_(client),
        trace_(client, stream_->path()),
        unflushed_(std::make_shared<Unflushed>(*stream_, std::move(reminders))) {}
  ~Connection();

  // Timeouts are Thrift's: milliseconds, 0 for none. TTransportException: TIMED_OUT, INTERRUPTED.
  // 0 bytes: the peer has closed, or gone.
  uint32_t Read(uint8_t* to, uint32_t size, int timeout_ms);
  // Waits until there is something to read: false when nothing comes any more, or in time.
  bool Peek(int timeout_ms);
  // Without waiting: whether a read would give something, the end included.
  bool Readable();
  // Of what has arrived in one piece: null if it is less than `*size`.
  const uint8_t* Borrow(uint32_t* size) const { return arrived_.Borrow(size); }
  void Consume(uint32_t size) {
    arrived_.Consume(size);
    TellReadiness();
  }
  // Readable from now on while Readable() is true. Made at the first call; -1: there is none to be had.
  int Descriptor();

  // TTransportException: TIMED_OUT; NOT_OPEN, the peer has closed, or gone (at a server see WriteAfterTheEnd).
  void Write(const uint8_t* from, uint32_t size, int timeout_ms);
  void Flush(int timeout_ms);
  // What this thread has written. (What another one does just now is its own to flush.)
  void FlushOwn(int timeout_ms);
  // What goes at once, behind all that is unflushed.
  uint32_t TryWrite(const uint8_t* from, uint32_t size);

  // Waits a little for what was not flushed, and for last words.
  void Close();
  stream::BlockingStream& stream() { return *stream_; }

 private:
  absl::Status Fill(Deadline deadline);
  // Whenever what has arrived may have changed.
  void TellReadiness() {
    if (readiness_ != nullptr) [[unlikely]]
      Tell();
  }
  void Tell();
  // In the writer's turn.
  void Send(absl::Span<const stream::ConstBytes> buffers, int timeout_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(unflushed_->turn());
  void SendUnflushed(int timeout_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(unflushed_->turn());
  bool Taken(const absl::Status& status);

  const std::unique_ptr<stream::BlockingStream> stream_;
  const bool client_;
  CallTrace trace_;

  // The reader's.
  Arrived arrived_;
  stream::Readiness* readiness_ = nullptr;  // null: nobody has asked for a descriptor

  // The writer's.
  const std::shared_ptr<Unflushed> unflushed_;
  WriteAfterTheEnd after_the_end_;
  std::atomic<std::thread::id> writer_;  // relaxed: of whoever has something unflushed; only it acts on that
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_CONNECTION_H_
