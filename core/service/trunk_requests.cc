#include "core/service/trunk_requests.h"

#include "absl/types/span.h"

namespace skein::service {
namespace {

constexpr uint64_t kTellsEvery = 16;
constexpr uint64_t kTellsBytes = TrunkRequests::kBytes / 8;

}  // namespace

void TrunkRequests::Add(const fabric::SendRequest& request, fabric::Segment segment, Request&& under_way) {
  silent_bytes_ += under_way.length;
  under_way_.push_back(std::move(under_way));
  batch_.push_back(request);
  segments_.push_back(segment);
  fabric::SendRequest& last = batch_.back();
  last.id = ++added_;
  last.signaled |= added_ - told_by_ >= kTellsEvery || silent_bytes_ >= kTellsBytes;
  if (!last.signaled) return;
  told_by_ = added_;
  silent_bytes_ = 0;
}

absl::Status TrunkRequests::Post(fabric::QueuePair& queue_pair) {
  for (size_t i = 0; i < batch_.size(); ++i) {
    batch_[i].local =
        segments_[i].size == 0 ? absl::Span<const fabric::Segment>() : absl::MakeConstSpan(&segments_[i], 1);
  }
  absl::Status posted = queue_pair.PostSend(batch_);
  batch_.clear();
  segments_.clear();
  return posted;
}

void TrunkRequests::Later(std::function<void()> what) {
  if (added_ == ended_) return what();
  later_.emplace_back(added_, std::move(what));
}

void TrunkRequests::DoWhatWaited() {
  while (!later_.empty() && later_.front().first <= ended_) {
    const std::function<void()> what = std::move(later_.front().second);
    later_.pop_front();
    what();
  }
}

void TrunkRequests::Clear() {
  under_way_.clear();
  later_.clear();
}

}  // namespace skein::service
