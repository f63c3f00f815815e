#include "core/base/received_bytes.h"

#include <cstring>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace skein {
namespace {

void Fill(const ReceivedBytes& bytes, int byte) { std::memset(bytes.get(), byte, CapacityOf(bytes)); }

TEST(ReceivedBytesTest, HoldWhatWasAskedFor) {
  for (const size_t size : {size_t{0}, size_t{1}, kLeastPooled - 1, kLeastPooled, kPooledBytes, kPooledBytes + 1}) {
    const ReceivedBytes bytes = NewReceivedBytes(size);
    EXPECT_GE(CapacityOf(bytes), size);
    Fill(bytes, 'x');  // an overrun is AddressSanitizer's to find
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.get()) % alignof(std::max_align_t), 0U);
  }
}

TEST(ReceivedBytesTest, TheLastGivenBackIsTheNextTaken) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "nothing is pooled";
#endif
  ReceivedBytes first = NewReceivedBytes(kLeastPooled);
  const std::byte* const address = first.get();
  first = nullptr;
  EXPECT_EQ(NewReceivedBytes(kPooledBytes).get(), address);
}

TEST(ReceivedBytesTest, EachHasOneOwner) {
  std::vector<ReceivedBytes> held;
  for (int i = 0; i < 100; ++i) {
    held.push_back(NewReceivedBytes(kLeastPooled));
    Fill(held.back(), i);
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(held[i][kLeastPooled - 1], static_cast<std::byte>(i));
}

// More than the pool keeps, by several threads: for the sanitizers.
TEST(ReceivedBytesTest, TakenAndGivenBackByAnyThread) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int round = 0; round < 3; ++round) {
        std::vector<ReceivedBytes> held;
        for (size_t bytes = 0; bytes < kMostPooled; bytes += kPooledBytes)
          held.push_back(NewReceivedBytes(kPooledBytes));
        for (const ReceivedBytes& bytes : held) bytes[0] = static_cast<std::byte>(t);
        for (const ReceivedBytes& bytes : held) EXPECT_EQ(bytes[0], static_cast<std::byte>(t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace skein
