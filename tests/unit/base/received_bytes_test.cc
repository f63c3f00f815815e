#include "core/base/received_bytes.h"

#include <cstring>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace skein {
namespace {

void Fill(const ReceiveBuffer& buffer, int byte) { std::memset(buffer.bytes.get(), byte, buffer.capacity); }

TEST(ReceivedBytesTest, HoldWhatWasAskedFor) {
  for (const size_t size : {size_t{0}, size_t{1}, kLeastPooled - 1, kLeastPooled, kPooledBytes, kPooledBytes + 1}) {
    const ReceiveBuffer buffer = NewReceiveBuffer(size);
    EXPECT_GE(buffer.capacity, size);
    Fill(buffer, 'x');  // an overrun is AddressSanitizer's to find
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.bytes.get()) % alignof(std::max_align_t), 0U);
  }
}

TEST(ReceivedBytesTest, TheLastGivenBackIsTheNextTaken) {
  ReceiveBuffer first = NewReceiveBuffer(kLeastPooled);
  const std::byte* const address = first.bytes.get();
  first.bytes = nullptr;
  EXPECT_EQ(NewReceiveBuffer(kPooledBytes).bytes.get(), address);
}

TEST(ReceivedBytesTest, SomeAreHeldByOneOwnerEach) {
  std::vector<ReceiveBuffer> held;
  for (int i = 0; i < 100; ++i) {
    held.push_back(NewReceiveBuffer(kLeastPooled));
    Fill(held.back(), i);
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(held[i].bytes[kLeastPooled], static_cast<std::byte>(i));
}

// More than the pool keeps, by several threads: for the sanitizers.
TEST(ReceivedBytesTest, TakenAndGivenBackByAnyThread) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int round = 0; round < 3; ++round) {
        std::vector<ReceiveBuffer> held;
        for (size_t bytes = 0; bytes < kMostPooled; bytes += kPooledBytes)
          held.push_back(NewReceiveBuffer(kPooledBytes));
        for (const ReceiveBuffer& buffer : held) buffer.bytes[0] = static_cast<std::byte>(t);
        for (const ReceiveBuffer& buffer : held) EXPECT_EQ(buffer.bytes[0], static_cast<std::byte>(t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace skein
