#include "grpc_transport/event_engine/tcp_reader.h"

#include <optional>
#include <utility>

namespace skein::grpc_transport {

void TcpReader::Read(OnDone on_done) {
  std::optional<absl::Status> kept;
  {
    MutexLock lock(&mu_);
    if (std::exchange(completed_, false)) {
      kept = std::exchange(status_, absl::OkStatus());
    } else {
      on_done_ = std::move(on_done);
      if (std::exchange(out_, true)) return;
    }
  }
  if (kept.has_value()) return on_done(*std::move(kept));
  auto ended = [self = shared_from_this()](absl::Status status) { self->Ended(std::move(status)); };
  if (tcp_->Read(std::move(ended), &incoming_, {})) Ended(absl::OkStatus());
}

void TcpReader::Ended(absl::Status status) {
  OnDone on_done;
  {
    MutexLock lock(&mu_);
    out_ = false;
    on_done = std::exchange(on_done_, nullptr);
    if (!on_done) {
      completed_ = true;
      status_ = std::move(status);
      return;
    }
  }
  on_done(std::move(status));
}

bool TcpReader::Withdraw() {
  OnDone forgotten;  // outlives the lock
  MutexLock lock(&mu_);
  forgotten = std::exchange(on_done_, nullptr);
  return static_cast<bool>(forgotten);
}

void TcpReader::MoveInto(SliceBuffer& out) {
  MutexLock lock(&mu_);
  if (!out_) grpc_slice_buffer_move_into(incoming_.c_slice_buffer(), out.c_slice_buffer());
}

bool TcpReader::idle() {
  MutexLock lock(&mu_);
  return !out_ && !completed_ && incoming_.Length() == 0;
}

}  // namespace skein::grpc_transport
