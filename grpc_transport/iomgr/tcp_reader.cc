#include "grpc_transport/iomgr/tcp_reader.h"

#include <utility>

#include "grpc_transport/iomgr/errors.h"

namespace skein::grpc_transport {

TcpReader::TcpReader(grpc_endpoint* tcp) : tcp_(tcp) {
  grpc_slice_buffer_init(&incoming_);
  GRPC_CLOSURE_INIT(&on_read_, OnRead, this, nullptr);
}

TcpReader::~TcpReader() { grpc_slice_buffer_destroy(&incoming_); }

void TcpReader::Read(grpc_closure* on_done) {
  if (mu_lost_.IsLost())
    return grpc_core::ExecCtx::Run(DEBUG_LOCATION, on_done, Unavailable("skein: forked while TCP was read"));
  {
    MutexLock lock(&mu_);
    if (std::exchange(completed_, false)) {
      return grpc_core::ExecCtx::Run(DEBUG_LOCATION, on_done, std::exchange(error_, absl::OkStatus()));
    }
    on_done_ = on_done;
    if (std::exchange(out_, true)) return;
  }
  Ref().release();  // OnRead's
  // Urgent: gRPC tries the socket before it waits. The kernel tells of bytes and of the reset behind them in one event,
  // and a reader that has used the event up for the bytes would wait for a second one, which does not come.
  grpc_endpoint_read(tcp_, &incoming_, &on_read_, /*urgent=*/true, /*min_progress_size=*/1);
}

void TcpReader::OnRead(void* arg, grpc_error_handle error) {
  auto* self = static_cast<TcpReader*>(arg);
  if (self->mu_lost_.IsLost()) return self->Unref();
  {
    MutexLock lock(&self->mu_);
    self->out_ = false;
    if (grpc_closure* on_done = std::exchange(self->on_done_, nullptr)) {
      grpc_core::ExecCtx::Run(DEBUG_LOCATION, on_done, std::move(error));
    } else {
      self->completed_ = true;
      self->error_ = std::move(error);
    }
  }
  self->Unref();
}

bool TcpReader::Withdraw() {
  if (mu_lost_.IsLost()) return false;
  MutexLock lock(&mu_);
  return std::exchange(on_done_, nullptr) != nullptr;
}

void TcpReader::MoveInto(grpc_slice_buffer* out) {
  if (mu_lost_.IsLost()) return;
  MutexLock lock(&mu_);
  if (!out_) grpc_slice_buffer_move_into(&incoming_, out);
}

bool TcpReader::idle() {
  if (mu_lost_.IsLost()) return false;
  MutexLock lock(&mu_);
  return !out_ && !completed_ && incoming_.length == 0;
}

}  // namespace skein::grpc_transport
