// gRPC schedules closures on the calling thread's ExecCtx. Threads that come from elsewhere need one of their own.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_ENSURE_EXEC_CTX_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_ENSURE_EXEC_CTX_H_

#include <optional>

#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// Declare it before locks: its destructor may run closures.
class EnsureExecCtx {
 public:
  EnsureExecCtx() {
    if (grpc_core::ExecCtx::Get() == nullptr) own_.emplace();
  }

 private:
  std::optional<grpc_core::ExecCtx> own_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_ENSURE_EXEC_CTX_H_
