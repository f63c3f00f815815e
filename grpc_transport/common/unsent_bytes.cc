#include "grpc_transport/common/unsent_bytes.h"

#include <utility>

namespace skein::grpc_transport {
namespace {

// What is kept for a silent peer: more than HTTP/2's windows have been seen to grow to (11 MiB), so that they end what
// there is to write; not as much as a peer may say it takes and never read.
constexpr size_t kMostKept = size_t{16} << 20;
// Of kSilence: a minute.
constexpr int kGivenUp = 600;

}  // namespace

void UnsentBytes::Add(grpc_slice_buffer* written) {
  if (writing_) {
    behind_ = written;
  } else {
    grpc_slice_buffer_move_into(written, &slices_);
  }
}

void UnsentBytes::Clear() {
  grpc_slice_buffer_reset_and_unref(&slices_);
  writing_ = false;
  behind_ = nullptr;
  no_space_ = false;
}

// SpaceAgain() may come before Taken: so there is no space from now on, and not from Taken on.
absl::Span<const stream::ConstBytes> UnsentBytes::BeginWrite() {
  writing_ = true;
  no_space_ = true;
  parts_.clear();
  parts_.reserve(slices_.count);
  for (size_t i = 0; i < slices_.count; ++i) {
    const grpc_slice& slice = slices_.slices[i];
    parts_.emplace_back(reinterpret_cast<const std::byte*>(GRPC_SLICE_START_PTR(slice)), GRPC_SLICE_LENGTH(slice));
  }
  return parts_;
}

void UnsentBytes::Taken(size_t bytes) {
  if (bytes > 0) {
    grpc_slice_buffer taken;
    grpc_slice_buffer_init(&taken);
    grpc_slice_buffer_move_first(&slices_, bytes, &taken);
    grpc_slice_buffer_destroy(&taken);
    moved_ = true;
    silences_ = 0;
  }
  if (empty()) no_space_ = false;
  writing_ = false;
  if (behind_ != nullptr) Add(std::exchange(behind_, nullptr));
}

bool UnsentBytes::CountsAsDone() const { return slices_.length <= (silences_ > 0 ? kMostKept : 0); }

void UnsentBytes::CountKept(bool write_under_way, Reserve reserve) {
  const size_t kept = write_under_way && kept_ == 0 ? 0 : slices_.length;
  if (std::exchange(kept_, kept) == kept) return;
  counted_.reset();  // before there is another one: both would not fit into a small quota
  if (kept > 0) counted_ = reserve(kept);
}

bool UnsentBytes::GivenUp() const { return silences_ >= kGivenUp; }

}  // namespace skein::grpc_transport
