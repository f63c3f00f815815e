#include "core/replicate/stream_path.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace skein::replicate {
namespace {

class Forward final : public stream::StreamObserver {
 public:
  explicit Forward(std::shared_ptr<PathObserver> observer) : observer_(std::move(observer)) {}
  void OnReadable() override { observer_->OnReadable(); }
  void OnWritable() override { observer_->OnWritable(); }

 private:
  const std::shared_ptr<PathObserver> observer_;
};

}  // namespace

StreamPath::~StreamPath() {
  // An abort would overtake the last words of a member that has failed, and the others would not learn why.
  if (!write_closed_) stream_->Abort(absl::AbortedError("the member has left the group"));
}

void StreamPath::SetObserver(std::shared_ptr<PathObserver> observer) {
  stream_->SetObserver(std::make_shared<Forward>(std::move(observer)));
}

absl::StatusOr<size_t> StreamPath::Write(absl::Span<const ConstBytes> parts) {
  absl::StatusOr<size_t> taken = stream_->Write(parts);
  // The peer's abort is its end, as the loss of the link is.
  if (!taken.ok()) return absl::UnavailableError(taken.status().message());
  return taken;
}

absl::StatusOr<size_t> StreamPath::Read(Bytes into) {
  if (next_ == arrived_.size()) {
    arrived_.clear();
    next_ = 0;
    const absl::Status status = stream_->Read(into.size(), arrived_);
    if (absl::IsOutOfRange(status)) return status;
    if (!status.ok()) return absl::UnavailableError(status.message());
  }
  return TakeArrived(into);
}

size_t StreamPath::TakeArrived(Bytes into) {
  size_t copied = 0;
  while (next_ < arrived_.size() && copied < into.size()) {
    stream::Buffer& buffer = arrived_[next_];
    const size_t size = std::min(buffer.size - taken_, into.size() - copied);
    std::memcpy(into.data() + copied, buffer.data.get() + taken_, size);
    copied += size;
    taken_ += size;
    if (taken_ < buffer.size) break;
    buffer.data.reset();  // its memory may be used again at once
    taken_ = 0;
    ++next_;
  }
  return copied;
}

}  // namespace skein::replicate
