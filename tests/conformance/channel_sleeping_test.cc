// A sleeper is woken by what it must not miss.
#include <atomic>
#include <thread>

#include "tests/conformance/channel_conformance.h"

namespace skein::channel {
namespace {

class ChannelSleeping : public ChannelConformance {
 protected:
  // Polls until there is nothing left to do, and arms.
  static void FallAsleep(ChannelEnd& end) {
    end.group->AckAllEvents();
    while (end.Poll() > 0 || !end.Arm()) {
    }
  }
  bool Woken(ChannelEnd& end) {
    channels().Settle();
    return channels().WouldWake(*end.group);
  }
};

TEST_P(ChannelSleeping, AMessageWakesWhoSleeps) {
  for (int i = 0; i < 10; ++i) {
    FallAsleep(b());
    EXPECT_FALSE(Woken(b()));
    ASSERT_TRUE(a().Send(Text(100, i)).ok());
    EXPECT_TRUE(Woken(b()));
    b().group->AckEvents();
    EXPECT_TRUE(Reads(b(), Text(100, i)));
  }
}

TEST_P(ChannelSleeping, WhatCameBeforeIsSeenByTheLookAfterArming) {
  ASSERT_TRUE(a().Send("before").ok());
  channels().Settle();
  EXPECT_FALSE(b().Arm());
  b().group->Disarm();
  EXPECT_EQ(Read(b()), "before");
}

TEST_P(ChannelSleeping, WakeWakes) {
  FallAsleep(b());
  EXPECT_FALSE(Woken(b()));
  b().group->Wake();
  EXPECT_TRUE(Woken(b()));
  b().group->AckEvents();
  EXPECT_FALSE(Woken(b()));
  b().group->Wake();
  EXPECT_TRUE(channels().Sleep(*b().group));
}

TEST_P(ChannelSleeping, TheEndWakes) {
  if (!channels().TheEndWakes()) GTEST_SKIP() << "it is seen by who looks";
  FallAsleep(b());
  a().channel->Close();
  EXPECT_TRUE(Woken(b()));
  b().group->AckAllEvents();
  EXPECT_TRUE(Eventually([&] { return b().channel->Ended(); }));
}

// Two threads that sleep whenever they have nothing to read, and wake each other: no wake-up is lost.
TEST_P(ChannelSleeping, ThreadsThatWakeEachOther) {
  constexpr int kRounds = 5000;
  std::atomic<bool> failed = false;
  const auto play = [&](ChannelEnd& end, bool begins) {
    int sent = 0;
    int arrived = 0;
    if (begins) failed = failed || !end.Send(Text(64, sent++)).ok();
    while (arrived < kRounds && !failed) {
      while (end.Poll() == 0 && !failed) {
        if (!end.Arm()) {
          end.group->Disarm();
          continue;
        }
        if (!channels().Sleep(*end.group)) failed = true;
        end.group->AckEvents();
      }
      for (; !end.read.empty(); end.read.pop_front(), ++arrived) {
        if (end.read.front() != Text(64, arrived)) failed = true;
        if (sent < kRounds && !end.Send(Text(64, sent++)).ok()) failed = true;
      }
    }
  };
  std::thread other([&] { play(b(), false); });
  play(a(), true);
  other.join();
  EXPECT_FALSE(failed);
}

// One writes as much as it may and sleeps for space, the other reads and sleeps for messages.
TEST_P(ChannelSleeping, AWriterThatSleepsForSpace) {
  constexpr int kMessages = 5000;
  std::atomic<bool> failed = false;
  const auto sleep = [&](ChannelEnd& end) {
    if (!end.Arm()) {
      end.group->Disarm();
      return;
    }
    if (!channels().Sleep(*end.group)) failed = true;
    end.group->AckEvents();
  };
  std::thread reader([&] {
    int arrived = 0;
    while (arrived < kMessages && !failed) {
      if (b().Poll() == 0) sleep(b());
      for (; !b().read.empty(); b().read.pop_front(), ++arrived) {
        if (b().read.front() != Text(arrived * 37 % 5000, arrived)) failed = true;
      }
    }
  });
  for (int sent = 0; sent < kMessages && !failed;) {
    if (a().Send(Text(sent * 37 % 5000, sent)).ok()) {
      ++sent;
    } else if (a().Poll() == 0 && a().channel->Space(Use::kData) < wire::ItemBytes(5000)) {
      sleep(a());
    }
  }
  reader.join();
  EXPECT_FALSE(failed);
}

INSTANTIATE_TEST_SUITE_P(All, ChannelSleeping, EveryTransport(), TransportName);

}  // namespace
}  // namespace skein::channel
