// A FIFO gives every message whole, once and in order, wherever its end is, and takes no more memory than it needs.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <deque>
#include <random>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "core/base/deadline.h"
#include "core/channel/shm/pages.h"
#include "tests/support/refused_shm_calls.h"
#include "tests/unit/channel_shm/fifo_ends.h"

namespace skein::channel::shm {
namespace {

// Bytes of a message of one item.
size_t Taken(size_t payload) { return Footprint(wire::ItemBytes(payload)); }
std::string Text(size_t size, int number) {
  std::string text = absl::StrCat(number, ":") + std::string(size, static_cast<char>('a' + number % 26));
  text.resize(size);
  return text;
}
size_t ResidentBytes(const FifoEnds& ends) {
  struct stat status = {};
  EXPECT_EQ(fstat(ends.memfd(), &status), 0);
  return static_cast<size_t>(status.st_blocks) * 512;
}

TEST(Fifo, WhatIsLaidIsSeenOnceItIsPublished) {
  FifoEnds ends;
  ASSERT_TRUE(ends.Lay("hello").ok());
  EXPECT_FALSE(ends.reader.Readable());
  EXPECT_EQ(ends.Peek(), "nothing");
  ends.Publish();
  EXPECT_TRUE(ends.reader.Readable());
  EXPECT_EQ(ends.Peek(), "hello");
  EXPECT_EQ(ends.Peek(), "hello") << "the same until Pop";
  EXPECT_EQ(ends.Read(), "hello");
  EXPECT_EQ(ends.Peek(), "nothing");
}

TEST(Fifo, WhatIsLaidAndNotPublishedLeavesNoTrace) {
  FifoEnds ends;
  ASSERT_TRUE(ends.Write("one").ok());
  ASSERT_TRUE(ends.Lay(std::string(10'000, 'x')).ok());
  ASSERT_TRUE(ends.Lay("two").ok());
  ends.Publish();
  EXPECT_EQ(ends.Read(), "one");
  EXPECT_EQ(ends.Read(), "two");
  EXPECT_EQ(ends.Read(), "nothing");
  EXPECT_EQ(ends.writer.messages(), 2u);
  ends.Publish();
  EXPECT_EQ(ends.Peek(), "nothing") << "what was published is not published again";
}

TEST(Fifo, WrapsAtEveryOffset) {
  for (size_t first = 0; first + Taken(1000) + kUnit <= kFirstBytes; first += kUnit) {
    FifoEnds ends;
    int number = 0;
    // Up to there, all read; then laps of every length.
    for (size_t at = 0; at < first; at += kUnit) ASSERT_TRUE(ends.Write("").ok());
    for (size_t at = 0; at < first; at += kUnit) ASSERT_EQ(ends.Read(), "");
    for (int i = 0; i < 20; ++i, ++number) {
      ASSERT_TRUE(ends.Write(Text(1000, number)).ok());
      ASSERT_EQ(ends.Read(), Text(1000, number)) << "from " << first;
    }
    EXPECT_EQ(ResidentBytes(ends), kFirstBytes) << "one message at a time needs no more";
    EXPECT_EQ(ends.writer.Refresh(), ends.writer.position());
  }
}

TEST(Fifo, KeepsEveryMessageAtRandom) {
  std::mt19937 random(20261128);
  for (const size_t reserve : {0, 4096}) {
    FifoEnds ends;
    std::deque<std::string> under_way;
    int number = 0;
    for (int step = 0; step < 20'000; ++step) {
      if (random() % 2 == 0) {
        const size_t space = ends.writer.Space(reserve);
        const size_t size = random() % (1 << (random() % 15));
        const std::string text = Text(size, number++);
        const bool fits = wire::ItemBytes(size) <= space;
        ASSERT_EQ(ends.Write(text, reserve).ok(), fits) << size << " bytes into " << space;
        if (fits) under_way.push_back(text);
      } else if (under_way.empty()) {
        ASSERT_EQ(ends.Peek(), "nothing");
      } else {
        ASSERT_EQ(ends.Read(), under_way.front());
        under_way.pop_front();
      }
    }
    EXPECT_FALSE(ends.writer.broken());
  }
}

// In the FIFO that has grown and in the one that has been given back, beside laps that end, and when it is full.
TEST(Fifo, FitsIsNeverWrongAndOftenYes) {
  std::mt19937 random(20261129);
  for (const size_t reserve : {0, 4096}) {
    FifoEnds ends;
    int fitted = 0;
    int written = 0;
    for (int step = 0; step < 20'000; ++step) {
      const size_t size = random() % (1 << (random() % 13));
      const bool fits = ends.writer.Fits(wire::ItemBytes(size), reserve);
      if (fits && step % 2 == 0) {
        ASSERT_LE(wire::ItemBytes(size), ends.writer.Space(reserve)) << step;
      }
      const bool wrote = ends.Write(Text(size, step), reserve).ok();
      ASSERT_TRUE(wrote || !fits) << size << " bytes, step " << step;
      fitted += fits ? 1 : 0;
      written += wrote ? 1 : 0;
      while (random() % 8 != 0 && ends.Read() != "nothing") {
      }
    }
    EXPECT_GT(fitted, written / 4) << "of " << written;
    EXPECT_FALSE(ends.writer.Fits(SIZE_MAX / 2, reserve));
  }
}

TEST(Fifo, NothingFitsOnceThePeerHasLied) {
  FifoEnds ends;
  ASSERT_TRUE(ends.writer.Fits(100, 0));
  ends.consumed = kUnit;
  ends.writer.Refresh();
  ASSERT_TRUE(ends.writer.broken());
  EXPECT_FALSE(ends.writer.Fits(100, 0));
  EXPECT_FALSE(ends.Lay("hello").ok());
}

TEST(Fifo, TheLargestItemFitsWhereverTheEndIs) {
  for (size_t first = 0; first + 2 * kUnit <= kFifoBytes; first += kUnit) {
    FifoEnds ends;
    for (size_t at = 0; at < first; at += kUnit) {
      ASSERT_TRUE(ends.Write("").ok());
      if (at % 16384 == 0 || at + kUnit >= first) {
        while (ends.Read() != "nothing") {
        }
      }
    }
    EXPECT_GE(ends.writer.Space(4096), wire::ItemBytes(ends.writer.LargestItem()));
    ASSERT_TRUE(ends.Write(std::string(ends.writer.LargestItem(), 'x'), 4096).ok()) << first;
    EXPECT_EQ(ends.Read().size(), ends.writer.LargestItem());
  }
}

TEST(Fifo, DataLeavesSpaceForControl) {
  FifoEnds ends;
  while (ends.Write(std::string(500, 'd'), 4096).ok()) {
  }
  EXPECT_LT(ends.writer.Space(4096), wire::ItemBytes(500));
  EXPECT_GE(ends.writer.Space(0), 4096u - kUnit);
  EXPECT_TRUE(ends.Write(std::string(4000, 'c'), 0).ok());
}

TEST(Fifo, SaysHowMuchSpaceThereIsAndHoldsThat) {
  FifoEnds ends;
  for (;;) {
    const size_t space = ends.writer.Space(0);
    if (space < sizeof(wire::ItemHeader)) break;
    const size_t payload = (space - sizeof(wire::ItemHeader)) & ~size_t{7};
    EXPECT_FALSE(ends.Lay(std::string(payload + 100, 'x')).ok());
    ASSERT_TRUE(ends.Write(std::string(payload, 'x')).ok()) << space;
  }
  EXPECT_EQ(ResidentBytes(ends), kFifoBytes);
  EXPECT_FALSE(ends.Write("x").ok()) << "full";
  EXPECT_GT(ends.Read().size(), 0u);
  EXPECT_TRUE(ends.Write("x").ok()) << "what was read makes space";
}

TEST(Fifo, TakesMemoryWhenMessagesLieUnread) {
  if (!CanReservePages()) GTEST_SKIP() << "the kernel reserves no pages of a mapping";
  FifoEnds ends;
  EXPECT_EQ(ResidentBytes(ends), kFirstBytes);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(ends.Write(Text(1000, i)).ok());
    ASSERT_EQ(ends.Read(), Text(1000, i));
  }
  EXPECT_EQ(ResidentBytes(ends), kFirstBytes);
  const auto burst = [&ends] {
    int written = 0;
    while (written < 20 && ends.Write(Text(1000, written)).ok()) ++written;
    for (int i = 0; i < written; ++i) ASSERT_EQ(ends.Read(), Text(1000, i));
  };
  for (int i = 0; i < 10; ++i) burst();
  EXPECT_EQ(ResidentBytes(ends), 2 * kFirstBytes) << "it has taken more once it could";
  for (int i = 0; i < 1000; ++i) burst();
  EXPECT_EQ(ResidentBytes(ends), 2 * kFirstBytes);
}

// Nothing tells when the kernel has memory again.
TEST(Fifo, AsksAgainForMemoryThatTheKernelHasRefused) {
  if (!CanReservePages()) GTEST_SKIP() << "the kernel reserves no pages of a mapping";
  FifoEnds ends(4 * kFifoBytes);
  const std::string large(ends.writer.LargestItem(), 'x');
  Refused({SYS_madvise}, ENOMEM, [&] { EXPECT_TRUE(absl::IsResourceExhausted(ends.Write(large))); });
  const Deadline guard = After(absl::Seconds(10));
  while (ends.writer.Space(0) < large.size() && Clock::now() < guard) std::this_thread::yield();
  EXPECT_EQ(ends.writer.LargestItemNow(), large.size());
  EXPECT_EQ(ends.Write(large), absl::OkStatus());
}

// A sender compares an item with the one and then with the other. If they differed, the sender would wait for space
// that no peer tells of.
TEST(Fifo, SpaceAndTheLargestItemAreOfOneMoment) {
  if (!CanReservePages()) GTEST_SKIP() << "the kernel reserves no pages of a mapping";
  FifoEnds ends(4 * kFifoBytes);
  const std::string large(ends.writer.LargestItem(), 'x');
  do {  // again, if this thread was kept from its processor until the kernel may be asked again
    Refused({SYS_madvise}, ENOMEM, [&] { EXPECT_TRUE(absl::IsResourceExhausted(ends.Write(large))); });
  } while (ends.writer.Space(0) >= large.size());
  FifoEnds later(4 * kFifoBytes);
  Refused({SYS_madvise}, ENOMEM, [&] { EXPECT_TRUE(absl::IsResourceExhausted(later.Write(large))); });
  const Deadline guard = After(absl::Seconds(10));
  while (later.writer.Space(0) < large.size() && Clock::now() < guard) std::this_thread::yield();
  EXPECT_LT(ends.writer.LargestItemNow(), large.size()) << "as Space has said";
  EXPECT_GT(ends.writer.Space(0), large.size());
  EXPECT_EQ(ends.writer.LargestItemNow(), large.size());
}

TEST(Fifo, GivesMemoryBackThatWasNotNeededForLong) {
  if (!CanReservePages()) GTEST_SKIP() << "the kernel reserves no pages of a mapping";
  FifoEnds ends;
  ASSERT_TRUE(ends.Write(std::string(ends.writer.LargestItem(), 'x')).ok());
  while (ends.Write(Text(1000, 7)).ok()) {
  }
  EXPECT_EQ(ResidentBytes(ends), kFifoBytes);
  while (ends.Read() != "nothing") {
  }
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(ends.Write(Text(1000, i)).ok());
    ASSERT_EQ(ends.Read(), Text(1000, i));
  }
  EXPECT_LE(ResidentBytes(ends), kFirstBytes + kPageBytes) << "and a page at most that a marker stands in";
}

}  // namespace
}  // namespace skein::channel::shm
