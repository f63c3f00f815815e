#include "thrift_transport/unflushed.h"

namespace skein::thrift_transport {

void Unflushed::Remind() {
  reminded_ = true;
  reminders_->Remind(weak_from_this());
}

void Unflushed::Sent(size_t size) { bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(size)); }

bool Unflushed::Due() {
  if (!turn_.TryTake()) return true;
  reminded_ = SendSome();
  const bool again = reminded_;
  turn_.LeaveAsOther();
  return again;
}

// True: there is more to send. A stream that takes none any more is told of by the writer's next word.
bool Unflushed::SendSome() {
  if (stream_ == nullptr || bytes_.empty()) return false;
  const stream::ConstBytes bytes(bytes_);
  const absl::StatusOr<size_t> taken = stream_->TryWrite({&bytes, 1});
  if (!taken.ok()) return false;
  most_ = 0;
  Sent(*taken);
  return !bytes_.empty();
}

}  // namespace skein::thrift_transport
