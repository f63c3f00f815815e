// A child takes no lock that a thread of its parent had at the fork, and every other one.
#include "core/base/lost_at_fork.h"

#include <thread>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "tests/support/in_child.h"

namespace skein {
namespace {

struct Guarded {
  Mutex mu;
  LostAtFork mu_lost{mu};
};

int IsLost(Guarded& guarded) { return guarded.mu_lost.IsLost() ? 1 : 0; }

// The same, and by whoever asks next.
int IsLostTwice(Guarded& guarded) { return 10 * IsLost(guarded) + IsLost(guarded); }

// While another thread of this process has the lock.
int WhileHeld(Guarded& guarded, const std::function<int()>& act) {
  absl::Notification held;
  absl::Notification over;
  std::thread holder([&] {
    MutexLock lock(&guarded.mu);
    held.Notify();
    over.WaitForNotification();
  });
  held.WaitForNotification();
  const int found = act();
  over.Notify();
  holder.join();
  return found;
}

// Each test begins in a child that has used nothing, for the mark of use is the process's.
int AfterUse(const std::function<int()>& act) {
  return InChild([&] {
    BeginUse();
    return act();
  });
}

TEST(LostAtForkTest, InTheProcessThatHoldsItALockIsNotLost) {
  EXPECT_EQ(AfterUse([] {
              Guarded guarded;
              return WhileHeld(guarded, [&] { return IsLostTwice(guarded); });
            }),
            0);
}

TEST(LostAtForkTest, ALockThatTheParentHeldIsLostInTheChild) {
  EXPECT_EQ(AfterUse([] {
              Guarded guarded;
              return WhileHeld(guarded, [&] { return InChild([&] { return IsLostTwice(guarded); }); });
            }),
            11);
}

TEST(LostAtForkTest, AFreeOneIsNotAlsoWhileAThreadOfTheChildHasIt) {
  EXPECT_EQ(AfterUse([] {
              Guarded guarded;
              return InChild([&] {
                if (IsLost(guarded) != 0) return 1;
                return WhileHeld(guarded, [&] { return IsLost(guarded) == 0 ? 0 : 2; });
              });
            }),
            0);
}

TEST(LostAtForkTest, OneThatTheChildHasMadeIsNot) {
  EXPECT_EQ(AfterUse([] {
              return InChild([] {
                Guarded guarded;
                return IsLostTwice(guarded);
              });
            }),
            0);
}

TEST(LostAtForkTest, AChildsChildFindsOutForItself) {
  EXPECT_EQ(AfterUse([] {
              return InChild([] {
                Guarded guarded;
                if (IsLost(guarded) != 0) return 1;
                const int held = WhileHeld(guarded, [&] { return InChild([&] { return IsLostTwice(guarded); }); });
                return held == 11 && InChild([&] { return IsLostTwice(guarded); }) == 0 ? 0 : 2;
              });
            }),
            0);
}

TEST(LostAtForkTest, ThreadsOfAChildThatAskAtOnceFindTheSame) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "a child of several threads may start none under ThreadSanitizer";
#endif
  EXPECT_EQ(AfterUse([] {
              for (int i = 0; i < 50; ++i) {
                Guarded guarded;
                const int lost = WhileHeld(guarded, [&] {
                  return InChild([&] {
                    int other = 0;
                    std::thread asks([&] { other = IsLost(guarded); });
                    const int one = IsLost(guarded);
                    asks.join();
                    return 10 * one + other;
                  });
                });
                if (lost != 11) return 1;
              }
              return 0;
            }),
            0);
}

}  // namespace
}  // namespace skein
