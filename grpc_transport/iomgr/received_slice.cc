#include "grpc_transport/iomgr/received_slice.h"

#include <utility>

#include "grpc_transport/iomgr/ensure_exec_ctx.h"

namespace skein::grpc_transport {
namespace {

struct Held {
  ReceivedBytes bytes;
  Quota::Reservation counted;
};

// By any thread, the program's too; a quota that gets bytes back may have a closure to schedule.
void Release(void* held) {
  const EnsureExecCtx exec_ctx;
  delete static_cast<Held*>(held);
}

}  // namespace

Quota QuotaOf(const grpc_core::ChannelArgs& args, absl::string_view name) {
  const auto* quota = args.GetObject<grpc_core::ResourceQuota>();
  if (quota != nullptr) return const_cast<grpc_core::ResourceQuota*>(quota)->memory_quota()->CreateMemoryOwner(name);
  return grpc_core::ResourceQuota::Default()->memory_quota()->CreateMemoryOwner(name);
}

grpc_slice ReceivedSlice(stream::Buffer buffer, Quota& quota) {
  std::byte* const bytes = buffer.data.get();
  const size_t capacity = CapacityOf(buffer.data);
  auto* const held = new Held{std::move(buffer.data), quota.MakeReservation(capacity)};
  return grpc_slice_new_with_user_data(bytes, buffer.size, Release, held);
}

}  // namespace skein::grpc_transport
