#include "grpc_transport/event_engine/tcp_reader.h"

#include <utility>

namespace skein::grpc_transport {

void TcpReader::Tell(absl::Status status) {
  completed_ = false;
  engine_->Run([on_done = std::move(on_done_), status = std::move(status)]() mutable { on_done(std::move(status)); });
  on_done_ = nullptr;
}

void TcpReader::Read(OnDone on_done) {
  if (mu_lost_.IsLost())
    return engine_->Run([on_done = std::move(on_done)]() mutable {
      on_done(absl::UnavailableError("skein: forked while TCP was read"));
    });
  MutexLock lock(&mu_);
  on_done_ = std::move(on_done);
  if (completed_ || !error_.ok()) return Tell(error_);
  if (tcp_ == nullptr) return Tell(absl::CancelledError("the connection has been destroyed"));
  if (!out_ && Start()) Tell(absl::OkStatus());
}

void TcpReader::ReadAhead() {
  if (mu_lost_.IsLost()) return;
  MutexLock lock(&mu_);
  if (completed_ || !error_.ok() || tcp_ == nullptr || out_) return;
  completed_ = Start();
}

bool TcpReader::Start() {
  const bool at_once = tcp_->Read(
      [self = shared_from_this()](absl::Status status) { self->Arrived(std::move(status)); }, &incoming_, {});
  out_ = !at_once;
  return at_once;
}

// This thread is the engine's, in a callback: so no other thread is needed for `on_done`.
void TcpReader::Arrived(absl::Status status) {
  if (mu_lost_.IsLost()) return;
  OnDone on_done;
  {
    MutexLock lock(&mu_);
    out_ = false;
    error_.Update(status);
    on_done = std::exchange(on_done_, nullptr);
    completed_ = on_done == nullptr;
  }
  if (on_done != nullptr) on_done(std::move(status));
}

bool TcpReader::Withdraw() {
  if (mu_lost_.IsLost()) return false;
  MutexLock lock(&mu_);
  return std::exchange(on_done_, nullptr) != nullptr;
}

void TcpReader::MoveInto(SliceBuffer& out) {
  if (mu_lost_.IsLost()) return;
  MutexLock lock(&mu_);
  if (!out_) incoming_.MoveFirstNBytesIntoSliceBuffer(incoming_.Length(), out);
}

bool TcpReader::idle() {
  if (mu_lost_.IsLost()) return false;
  MutexLock lock(&mu_);
  return !out_ && !completed_ && error_.ok() && incoming_.Length() == 0;
}

bool TcpReader::HasEnded() {
  if (mu_lost_.IsLost()) return true;
  MutexLock lock(&mu_);
  return !error_.ok();
}

void TcpReader::Detach() {
  if (mu_lost_.IsLost()) return;
  MutexLock lock(&mu_);
  tcp_ = nullptr;
}

}  // namespace skein::grpc_transport
