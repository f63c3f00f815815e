// The bytes that a program has written to a connection and not flushed: a message is many small writes, and then a
// flush.
//
// Over TCP a program need not flush. The background thread finds such a program out: it sends bytes that have lain for
// a moment. From then on each write goes at once, until the program flushes again.
#ifndef SKEIN_THRIFT_TRANSPORT_UNFLUSHED_H_
#define SKEIN_THRIFT_TRANSPORT_UNFLUSHED_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/stream/blocking_stream.h"
#include "core/wait/reminders.h"
#include "thrift_transport/turn.h"

namespace skein::thrift_transport {

// The writer has the turn while it uses any of this, and while it writes to the stream, which takes one write at a
// time. The background thread does nothing while the writer has the turn: a writer never waits for it but for one write
// that does not block.
class Unflushed final : public wait::Reminder, public std::enable_shared_from_this<Unflushed> {
 public:
  // Null: nothing is gathered, since nobody would send it.
  Unflushed(stream::BlockingStream& stream, std::shared_ptr<wait::Reminders> reminders)
      : reminders_(std::move(reminders)), stream_(&stream), most_(reminders_ == nullptr ? 0 : kMostGathered) {}

  Turn& turn() ABSL_LOCK_RETURNED(turn_) { return turn_; }

  bool empty() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_) { return bytes_.empty(); }
  stream::ConstBytes bytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_) { return bytes_; }
  // False: they are to be sent now, behind bytes().
  bool Gather(stream::ConstBytes bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_) {
    if (bytes_.size() + bytes.size() > most_) return false;
    if (!reminded_) [[unlikely]]
      Remind();
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return true;
  }
  // The first of bytes() have been sent.
  void Sent(size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_);
  void SentAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_) { bytes_.clear(); }
  void ProgramFlushes() ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_) {
    if (reminders_ != nullptr) most_ = kMostGathered;
  }
  // Before the stream goes: nothing is sent any more.
  void Close() ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_) { stream_ = nullptr; }

  bool Due() override;

 private:
  static constexpr size_t kMostGathered = 32 << 10;

  void Remind() ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_);
  bool SendSome() ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_);

  const std::shared_ptr<wait::Reminders> reminders_;
  Turn turn_;
  stream::BlockingStream* stream_ ABSL_GUARDED_BY(turn_);
  std::vector<std::byte> bytes_ ABSL_GUARDED_BY(turn_);
  bool reminded_ ABSL_GUARDED_BY(turn_) = false;  // Due is to come
  size_t most_ ABSL_GUARDED_BY(turn_);            // that is gathered; 0: each write is sent at once
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_UNFLUSHED_H_
