// A stream's window for writers: bytes, who waits, and how it stops.
#include "core/stream/send_window.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "gtest/gtest.h"

namespace skein::stream {
namespace {

using Ended = SendWindow::Ended;

TEST(SendWindow, WhatFitsGoesAndNobodyWaits) {
  SendWindow window(100);
  EXPECT_EQ(window.Begin(), 100u);
  EXPECT_TRUE(window.writing());
  EXPECT_EQ(window.End(40, true), Ended::kDone);
  EXPECT_FALSE(window.writing());
  EXPECT_TRUE(window.Add(10));
  EXPECT_FALSE(window.TakeWaiter());
  EXPECT_EQ(window.Begin(), 70u);
}

TEST(SendWindow, AWriterThatLacksWindowIsToldOnce) {
  SendWindow window(100);
  EXPECT_EQ(window.Begin(), 100u);
  EXPECT_EQ(window.End(100, false), Ended::kDone);
  EXPECT_FALSE(window.TakeWaiter()) << "nothing has come";
  window.Again();
  EXPECT_FALSE(window.TakeWaiter()) << "space on the link, and no window";
  EXPECT_TRUE(window.Add(1));
  EXPECT_TRUE(window.TakeWaiter());
  EXPECT_FALSE(window.TakeWaiter());
  EXPECT_EQ(window.Begin(), 1u);
}

TEST(SendWindow, AWriterThatLacksSpaceIsTold) {
  SendWindow window(100);
  EXPECT_EQ(window.Begin(), 100u);
  EXPECT_EQ(window.End(10, false), Ended::kDone);
  EXPECT_FALSE(window.TakeWaiter());
  window.Again();
  EXPECT_TRUE(window.TakeWaiter());
  EXPECT_EQ(window.Begin(), 90u);
}

TEST(SendWindow, WhatComesWhileAWriterWritesIsNotMissed) {
  SendWindow window(10);
  EXPECT_EQ(window.Begin(), 10u);
  EXPECT_TRUE(window.Add(5));
  EXPECT_FALSE(window.TakeWaiter()) << "nobody waits yet";
  EXPECT_EQ(window.End(10, false), Ended::kAgain);
  EXPECT_EQ(window.Begin(), 5u);
}

TEST(SendWindow, APeerGivesNoMoreThanThereCanBe) {
  SendWindow window(UINT64_MAX);
  EXPECT_EQ(window.Begin(), SendWindow::kMax);
  EXPECT_FALSE(window.Add(1));
  EXPECT_FALSE(window.Add(UINT64_MAX));
  EXPECT_EQ(window.End(1, true), Ended::kDone);
  EXPECT_FALSE(window.Add(2));
  EXPECT_TRUE(window.Add(1));
  EXPECT_EQ(window.Begin(), SendWindow::kMax);
}

TEST(SendWindow, AClosedWindowLetsAWriterEndUnderTheLock) {
  SendWindow window(10);
  EXPECT_EQ(window.Begin(), 10u);
  window.Close();
  EXPECT_EQ(window.End(10, true), Ended::kStopped);
  EXPECT_TRUE(window.writing()) << "until then";
  EXPECT_FALSE(window.EndStopped(10, true));
  EXPECT_FALSE(window.writing());
  EXPECT_EQ(window.Begin(), std::nullopt);
}

TEST(SendWindow, AStreamThatFailsTellsWhoWaitsAndWhoWrites) {
  SendWindow waited(10);
  EXPECT_EQ(waited.Begin(), 10u);
  EXPECT_EQ(waited.End(10, false), Ended::kDone);
  waited.Fail();
  EXPECT_TRUE(waited.TakeWaiter());
  SendWindow written(10);
  EXPECT_EQ(written.Begin(), 10u);
  written.Fail();
  EXPECT_EQ(written.End(4, false), Ended::kStopped);
  EXPECT_TRUE(written.EndStopped(4, false)) << "to hear why";
  EXPECT_FALSE(written.TakeWaiter());
}

// A writer that is told nothing would wait for ever; one that is told too much would find nothing.
TEST(SendWindow, AWriterAndAPollerLoseNoByteAndNoWaiter) {
  constexpr uint64_t kBytes = 200'000;
  SendWindow window(3);
  std::atomic<uint32_t> told = 0;
  std::atomic<uint64_t> sent = 0;
  std::thread writer([&] {
    while (sent < kBytes) {
      const uint32_t seen = told;
      for (bool again = true; again;) {
        const uint64_t most = std::min(window.Begin().value(), kBytes - sent);
        sent += most;
        again = window.End(most, sent == kBytes) == Ended::kAgain;
      }
      if (sent < kBytes) told.wait(seen);
    }
  });
  uint64_t given = 3;
  while (given < kBytes) {
    while (sent < given && sent + 2 < given) std::this_thread::yield();
    const uint64_t more = std::min<uint64_t>(given % 5 + 1, kBytes - given);
    EXPECT_TRUE(window.Add(more));
    given += more;
    if (!window.TakeWaiter()) continue;
    ++told;
    told.notify_one();
  }
  writer.join();
  EXPECT_EQ(sent, kBytes);
}

}  // namespace
}  // namespace skein::stream
