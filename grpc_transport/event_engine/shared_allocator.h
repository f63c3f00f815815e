// gRPC gives each connection one MemoryAllocator, which cannot be copied. A connection of Skein's has several holders
// of memory: TCP's endpoint, the one that follows it after a failed negotiation, and the stream's.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_SHARED_ALLOCATOR_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_SHARED_ALLOCATOR_H_

#include <memory>
#include <utility>

#include "grpc_transport/event_engine/engine_types.h"

namespace skein::grpc_transport {

// Any thread. gRPC hears of its allocator's end when the last share has gone, with all that was reserved by it.
class SharedAllocator {
 public:
  explicit SharedAllocator(MemoryAllocator allocator)
      : allocator_(std::make_shared<MemoryAllocator>(std::move(allocator))) {}

  MemoryAllocator Share() const { return MemoryAllocator(std::make_shared<Forward>(allocator_)); }

 private:
  class Forward final : public grpc_event_engine::experimental::internal::MemoryAllocatorImpl {
   public:
    explicit Forward(std::shared_ptr<MemoryAllocator> allocator) : allocator_(std::move(allocator)) {}
    size_t Reserve(MemoryRequest request) override { return allocator_->Reserve(request); }
    grpc_slice MakeSlice(MemoryRequest request) override { return allocator_->MakeSlice(request); }
    void Release(size_t bytes) override { allocator_->Release(bytes); }
    void Shutdown() override {}  // of a share: others go on

   private:
    const std::shared_ptr<MemoryAllocator> allocator_;
  };

  std::shared_ptr<MemoryAllocator> allocator_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_SHARED_ALLOCATOR_H_
