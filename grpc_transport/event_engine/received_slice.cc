#include "grpc_transport/event_engine/received_slice.h"

#include <utility>

namespace skein::grpc_transport {
namespace {

struct Held {
  ReceivedBytes bytes;
  MemoryAllocator::Reservation counted;
};

// By any thread, the program's too.
void Release(void* held) { delete static_cast<Held*>(held); }

}  // namespace

grpc_slice ReceivedSlice(stream::Buffer buffer, MemoryAllocator& allocator) {
  std::byte* const bytes = buffer.data.get();
  const size_t capacity = CapacityOf(buffer.data);
  auto* const held = new Held{std::move(buffer.data), allocator.MakeReservation(capacity)};
  return grpc_slice_new_with_user_data(bytes, buffer.size, Release, held);
}

}  // namespace skein::grpc_transport
