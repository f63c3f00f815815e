// A connection that carries whole messages: those of durable calls.
//
//     client:  D5 | CR LF | frame, frame, ...        frame: u32 length, little-endian | the message
//     server:  frame, frame, ...
//
// Other servers refuse the opening at once, for the reasons that make them refuse Skein's hello (README.md).
#ifndef SKEIN_THRIFT_TRANSPORT_DURABLE_LINE_H_
#define SKEIN_THRIFT_TRANSPORT_DURABLE_LINE_H_

#include <thrift/transport/TTransport.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "core/base/mutex.h"

namespace skein::thrift_transport {

inline constexpr absl::string_view kDurableOpening = "\xD5\r\n";

// Frames out of what a transport reads, as it comes.
class FrameReader {
 public:
  explicit FrameReader(uint64_t most) : most_(most) {}

  // The next message, which stays until the next call; none at the connection's end. Throws what the transport throws,
  // and may be called again then; TTransportException (CORRUPTED_DATA) for a longer one than `most`. No more memory is
  // taken than what has come, and a bit.
  std::optional<absl::string_view> Next(apache::thrift::transport::TTransport& from);
  // The same in parts: reads once; false at the connection's end.
  bool Read(apache::thrift::transport::TTransport& from);
  // Next would not read: there is a message, or the beginning of one that is too long.
  bool decided() const;

 private:
  absl::string_view rest() const { return absl::string_view(bytes_).substr(begin_); }
  bool Whole(absl::string_view& message);

  const uint64_t most_;
  std::string bytes_;
  size_t begin_ = 0;  // of what has not been taken
};

// One thread reads; any may put, send, end and cut. `transport` is open, and one of which one thread may read while
// another writes, if these do. Only a socket can be ended or cut; with another, nothing happens.
class DurableLine {
 public:
  // Reads messages of up to `most` bytes.
  DurableLine(std::shared_ptr<apache::thrift::transport::TTransport> transport, uint64_t most);

  // Takes a message, or bytes as they are, to be sent.
  void Put(absl::string_view message) ABSL_LOCKS_EXCLUDED(put_mu_);
  void PutRaw(absl::string_view bytes) ABSL_LOCKS_EXCLUDED(put_mu_);
  // Bytes that were put and are held until they have been written; of these, that are not being written.
  size_t unsent() const ABSL_LOCKS_EXCLUDED(put_mu_);
  size_t waiting() const ABSL_LOCKS_EXCLUDED(put_mu_);
  // Writes what was put. When the connection takes it no more, it is cut.
  void Send() ABSL_LOCKS_EXCLUDED(put_mu_, send_mu_);

  // FrameReader's.
  std::optional<absl::string_view> Next() { return frames_.Next(*transport_); }
  // As far as can be seen; of a message that has come in part, takes that part. By the reader.
  bool NextWouldNotWait();

  // Nothing more is written; the peer sees the end behind what was sent, when it reads. Who waits in Next may see it,
  // too, or be interrupted: then it closes.
  void EndWriting();
  // Who waits in Next or Send sees the end.
  void Cut();
  bool is_cut() const { return cut_.load(std::memory_order_relaxed); }
  // By the reader. Nobody else is in Send, or it is cut.
  void Close() ABSL_LOCKS_EXCLUDED(send_mu_);

 private:
  void Shut(int how);

  const std::shared_ptr<apache::thrift::transport::TTransport> transport_;
  FrameReader frames_;
  std::atomic<bool> cut_ = false;
  mutable Mutex put_mu_;  // a leaf
  std::string put_ ABSL_GUARDED_BY(put_mu_);
  size_t being_written_ ABSL_GUARDED_BY(put_mu_) = 0;
  Mutex send_mu_;  // before put_mu_; what is put goes out in its order
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_DURABLE_LINE_H_
