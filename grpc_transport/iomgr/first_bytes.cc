#include "grpc_transport/iomgr/first_bytes.h"

#include <utility>

#include "grpc_transport/iomgr/connection_trace.h"
#include "grpc_transport/iomgr/errors.h"

namespace skein::grpc_transport {

void FirstBytes::DoHandshake(grpc_tcp_server_acceptor* /*acceptor*/, grpc_closure* on_done,
                             grpc_core::HandshakerArgs* args) {
  if (mu_lost_.IsLost()) {
    Abandon(*args, Unavailable("skein: forked before the server's first bytes"));
    return grpc_core::ExecCtx::Run(DEBUG_LOCATION, on_done, Unavailable("skein: forked"));
  }
  MutexLock lock(&mu_);
  args_ = args;
  on_done_ = on_done;
  if (shut_down_) return Finish(Unavailable("shut down before the server's first bytes"));
  const auto* connection = args->args.GetObject<ConnectionTrace>();
  const bool over_stream = connection != nullptr && connection->path() != trace::Path::kTcp;
  if (!over_stream || args->read_buffer->length > 0) return Finish(absl::OkStatus());
  lookout_ = grpc_core::MakeRefCounted<Lookout>();
  Read();
}

void FirstBytes::Read() {
  Ref().release();
  grpc_endpoint_read(args_->endpoint, args_->read_buffer, &on_read_, /*urgent=*/false, /*min_progress_size=*/1);
}

void FirstBytes::OnRead(void* arg, grpc_error_handle error) {
  grpc_core::RefCountedPtr<FirstBytes> self(static_cast<FirstBytes*>(arg));
  if (self->mu_lost_.IsLost()) return;
  MutexLock lock(&self->mu_);
  // TLS has words of its own after its handshake, which are none of the server's.
  if (error.ok() && self->args_->read_buffer->length == 0) return self->Read();
  self->Finish(std::move(error));
}

void FirstBytes::Shutdown(grpc_error_handle why) {
  if (mu_lost_.IsLost()) return;
  MutexLock lock(&mu_);
  if (std::exchange(shut_down_, true) || on_done_ == nullptr) return;
  grpc_endpoint_shutdown(args_->endpoint, std::move(why));  // the read fails, and that ends it
}

void FirstBytes::Finish(grpc_error_handle error) {
  if (lookout_ != nullptr) lookout_->End();
  if (!error.ok()) Abandon(*args_, error);
  grpc_core::ExecCtx::Run(DEBUG_LOCATION, std::exchange(on_done_, nullptr), std::move(error));
}

}  // namespace skein::grpc_transport
