#include "thrift_transport/unflushed.h"

namespace skein::thrift_transport {
namespace {

constexpr size_t kMostGathered = 32 << 10;

}  // namespace

bool Unflushed::Gather(stream::ConstBytes bytes) {
  if (at_once_ || reminders_ == nullptr || bytes_.size() + bytes.size() > kMostGathered) return false;
  if (!std::exchange(reminded_, true)) reminders_->Remind(weak_from_this());
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return true;
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
  at_once_ = true;
  Sent(*taken);
  return !bytes_.empty();
}

}  // namespace skein::thrift_transport
