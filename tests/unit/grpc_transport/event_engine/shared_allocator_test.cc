// One MemoryAllocator of gRPC's for several holders.
#include "grpc_transport/event_engine/shared_allocator.h"

#include <optional>

#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/event_engine/connecting_engine.h"

namespace skein::grpc_transport {
namespace {

TEST(SharedAllocatorTest, EndsWithTheLastShare) {
  Memory memory;
  std::optional<SharedAllocator> shared(memory.Allocator());
  MemoryAllocator first = shared->Share();
  std::optional<MemoryAllocator> second = shared->Share();
  shared.reset();
  second.reset();
  EXPECT_FALSE(memory.ended) << "the first share goes on";
  {
    const MemoryAllocator::Reservation reserved = first.MakeReservation(100);
    EXPECT_EQ(memory.reserved, 100);
  }
  EXPECT_EQ(memory.reserved, 0);
  first = MemoryAllocator();
  EXPECT_TRUE(memory.ended);
}

TEST(SharedAllocatorTest, WhatWasReservedByAShareOutlivesIt) {
  Memory memory;
  std::optional<MemoryAllocator> share = SharedAllocator(memory.Allocator()).Share();
  std::optional<MemoryAllocator::Reservation> reserved = share->MakeReservation(100);
  share.reset();
  EXPECT_EQ(memory.reserved, 100);
  EXPECT_FALSE(memory.ended);
  reserved.reset();
  EXPECT_EQ(memory.reserved, 0);
  EXPECT_TRUE(memory.ended);
}

}  // namespace
}  // namespace skein::grpc_transport
