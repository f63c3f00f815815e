// Messages on their way into a stream of gRPC's callback interface, which takes one at a time.
#ifndef SKEIN_GRPC_TRANSPORT_DURABLE_WRITE_QUEUE_H_
#define SKEIN_GRPC_TRANSPORT_DURABLE_WRITE_QUEUE_H_

#include <grpcpp/support/byte_buffer.h>

#include <deque>
#include <string>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "grpc_transport/durable/durable_call.h"

namespace skein::grpc_transport {

inline constexpr uint64_t kCostOfMessage = 256;  // of memory, beside its bytes, about

// Any thread. `Reactor` is a bidirectional one, and outlives this; gRPC never calls its OnWriteDone from within
// StartWrite.
template <typename Reactor>
class WriteQueue {
 public:
  explicit WriteQueue(Reactor& reactor) : reactor_(reactor) {}

  // How many bytes wait to be written, and what it takes to keep them.
  uint64_t Put(const std::string& message) ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(&mu_);
    if (broken_) return 0;
    messages_.push_back(BufferOf(message));
    bytes_ += BytesOfOne(messages_.back());
    if (messages_.size() == 1) reactor_.StartWrite(&messages_.front());
    return bytes_;
  }
  // Nothing more is written, but for what is on its way.
  void Break() ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(&mu_);
    broken_ = true;
  }
  // By OnWriteDone.
  void Written(bool ok) ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(&mu_);
    broken_ |= !ok;
    bytes_ -= BytesOfOne(messages_.front());
    messages_.pop_front();
    if (broken_) messages_.clear();
    if (!messages_.empty()) {
      reactor_.StartWrite(&messages_.front());
    } else if (finish_) {
      Finish();
    }
  }
  // When all has been written, ends the stream: a server's.
  void FinishWith(grpc::Status status) ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(&mu_);
    if (finish_ || finished_) return;
    status_ = std::move(status);
    finish_ = true;
    if (messages_.empty()) Finish();
  }

 private:
  static uint64_t BytesOfOne(const grpc::ByteBuffer& message) { return message.Length() + kCostOfMessage; }
  void Finish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    finish_ = false;
    finished_ = broken_ = true;
    if constexpr (requires { reactor_.Finish(status_); }) reactor_.Finish(status_);
  }

  Reactor& reactor_;
  Mutex mu_;
  std::deque<grpc::ByteBuffer> messages_ ABSL_GUARDED_BY(mu_);  // the first is being written
  uint64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  bool broken_ ABSL_GUARDED_BY(mu_) = false;
  bool finish_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_DURABLE_WRITE_QUEUE_H_
