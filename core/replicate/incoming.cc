#include "core/replicate/incoming.h"

#include <algorithm>
#include <utility>

namespace skein::replicate {
namespace {

constexpr size_t kDroppedAtOnce = size_t{64} << 10;

}  // namespace

absl::StatusOr<bool> Incoming::Read(Path& path, size_t most, Sink& sink) {
  for (size_t read = 0; read < most;) {
    const bool dropping = !dropped_.empty();
    const Bytes into = dropping ? Bytes(dropped_) : rest_.first(std::min(rest_.size(), most));
    const absl::StatusOr<size_t> got = path.Read(into);
    if (!got.ok()) return got.status();
    if (*got == 0) return false;
    read += *got;
    if (dropping) continue;
    if (absl::Status status = Take(*got, sink); !status.ok()) return status;
  }
  return true;
}

absl::Status Incoming::Take(size_t bytes, Sink& sink) {
  rest_.remove_prefix(bytes);
  if (!rest_.empty()) return absl::OkStatus();
  const bool body = block_.has_value() || failure_.has_value();
  absl::Status status = body ? TakeBody(sink) : TakeFrame(sink);
  // The sink may have had all that follows dropped.
  if (rest_.empty() && dropped_.empty()) rest_ = Bytes(frame_);
  return status;
}

absl::Status Incoming::TakeFrame(Sink& sink) {
  const absl::StatusOr<Frame> frame = Decode(frame_);
  if (!frame.ok()) return frame.status();
  if (const auto* hello = std::get_if<Hello>(&*frame)) return sink.OnHello(*hello);
  if (const auto* begin = std::get_if<Begin>(&*frame)) return sink.OnBegin(*begin);
  if (const auto* have = std::get_if<Have>(&*frame)) return sink.OnHave(*have);
  if (const auto* failure = std::get_if<Failure>(&*frame)) {
    failure_ = *failure;
    text_.resize(failure->text_bytes);
    rest_ = Bytes(reinterpret_cast<std::byte*>(text_.data()), text_.size());
  } else if (const auto* block = std::get_if<Block>(&*frame)) {
    const absl::StatusOr<Bytes> place = sink.PlaceOf(*block);
    if (!place.ok()) return place.status();
    block_ = *block;
    rest_ = *place;
  }
  return rest_.empty() ? TakeBody(sink) : absl::OkStatus();
}

absl::Status Incoming::TakeBody(Sink& sink) {
  if (block_.has_value()) return sink.OnBlock(*std::exchange(block_, std::nullopt));
  return sink.OnFailure(*std::exchange(failure_, std::nullopt), text_);
}

void Incoming::Drop() {
  block_.reset();
  failure_.reset();
  rest_ = {};
  dropped_.resize(kDroppedAtOnce);
}

}  // namespace skein::replicate
