#include "core/base/received_bytes.h"

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace skein {
namespace {

void Fill(const ReceivedBytes& bytes, int byte) { std::memset(bytes.get(), byte, CapacityOf(bytes)); }

TEST(ReceivedBytesTest, HoldWhatWasAskedFor) {
  for (const size_t size : {size_t{0}, size_t{1}, kSmallPiece, kSmallPiece + 1, kLeastPooled - 1, kLeastPooled,
                            kPooledBytes, kPooledBytes + 1}) {
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

TEST(ReceivedBytesTest, ASmallPieceWaitsAtItsHome) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "nothing is pooled";
#endif
  ReceivedBytes first = NewReceivedBytes(1, 7);
  ReceivedBytes other = NewReceivedBytes(1, 8);
  const std::byte* const address = first.get();
  const std::byte* const others = other.get();
  first = nullptr;
  other = nullptr;
  EXPECT_EQ(NewReceivedBytes(kSmallPiece, 7).get(), address);
  EXPECT_EQ(NewReceivedBytes(kSmallPiece, 8 + kHomes).get(), others) << "any number is somebody's home";
}

TEST(ReceivedBytesTest, OneSmallPieceWaitsAndNoneHasTwoOwners) {
  std::vector<ReceivedBytes> held;
  for (int round = 0; round < 3; ++round) {
    held.clear();
    for (int i = 0; i < 10; ++i) {
      held.push_back(NewReceivedBytes(kSmallPiece, 9));
      Fill(held.back(), i);
    }
    for (int i = 0; i < 10; ++i) EXPECT_EQ(held[i][kSmallPiece - 1], static_cast<std::byte>(i));
  }
}

// As poller and reader do. The bytes are plain memory: ThreadSanitizer sees whoever has a piece too early.
TEST(ReceivedBytesTest, SmallPiecesGoFromThreadToThread) {
  constexpr int kPieces = 20000;
  std::atomic<std::byte*> passed = nullptr;
  std::thread reader([&] {
    for (int i = 0; i < kPieces; ++i) {
      std::byte* bytes = nullptr;
      while ((bytes = passed.exchange(nullptr)) == nullptr) std::this_thread::yield();
      EXPECT_EQ(bytes[0], static_cast<std::byte>(i));
      ReleaseReceivedBytes()(bytes);
    }
  });
  for (int i = 0; i < kPieces; ++i) {
    ReceivedBytes piece = NewReceivedBytes(1, 10);
    Fill(piece, i);
    while (passed.load() != nullptr) std::this_thread::yield();
    passed = piece.release();
  }
  reader.join();
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
