// Calls on different objects need no locks of the caller's. Meant for ThreadSanitizer as much as for the assertions.
#include <atomic>
#include <thread>

#include "absl/time/clock.h"
#include "tests/conformance/conformance.h"

namespace skein::fabric {
namespace {

class Threads : public Conformance {
 protected:
  // The loop every sleeper runs; false at a lost wake-up.
  bool WaitForOne(const End& end, Completion& completion) {
    while (true) {
      if (end.queue->Poll({&completion, 1}) == 1) return true;
      if (!end.queue->Arm().ok()) return false;
      if (end.queue->Poll({&completion, 1}) == 1) return true;
      if (!fabric().SleepUntilReadable(*end.queue)) return false;
      end.queue->AckEvents();
    }
  }
  // Polls both without sleeping, within the guard; the peer only for what progress it makes there.
  bool PollForOne(const End& end, const End& peer, Completion& completion) {
    const absl::Time given_up = absl::Now() + kGuard;
    while (end.queue->Poll({&completion, 1}) == 0) {
      if (absl::Now() > given_up) return false;
      fabric().Settle();
      peer.Poll();
      std::this_thread::yield();
    }
    return true;
  }
};

TEST_P(Threads, SleepersWakeEachOther) {
  constexpr uint64_t kRounds = 200;
  std::atomic<uint64_t> echoed{0};
  std::thread echo([&] {
    for (uint64_t round = 1; round <= kRounds; ++round) {
      if (!PostReceive(*b().queue_pair, b().Local(0, 8), round).ok()) return;
      Completion received;
      if (!WaitForOne(b(), received) || received.status != CompletionStatus::kSuccess) return;
      if (!Post(*b().queue_pair, Opcode::kSend, b().Local(0, 8), {}, round, /*signaled=*/round % 64 == 0).ok()) return;
      if (round % 64 == 0 && !WaitForOne(b(), received)) return;
      echoed = round;
    }
  });
  uint64_t answered = 0;
  for (uint64_t round = 1; round <= kRounds; ++round) {
    a().PutWord(0, round);
    if (!PostReceive(*a().queue_pair, a().Local(64, 8), round).ok()) break;
    if (!Post(*a().queue_pair, Opcode::kSend, a().Local(0, 8), {}, round, /*signaled=*/true).ok()) break;
    Completion completion;
    bool lost = false;
    for (int i = 0; i < 2 && !lost; ++i) lost = !WaitForOne(a(), completion);
    if (lost || a().GetWord(64) != round) break;
    answered = round;
  }
  EXPECT_EQ(answered, kRounds);
  if (answered != kRounds) a().queue_pair->Close();
  echo.join();
  EXPECT_EQ(echoed, kRounds);
}

TEST_P(Threads, QueuePairsOfOneDeviceWorkSideBySide) {
  constexpr size_t kThreads = 4;
  constexpr size_t kEach = 200;
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const End at_a(a().device, 4096);
      const End at_b(b().device, 4096);
      bool ok = Connect(*at_a.queue_pair, *at_b.queue_pair).ok();
      for (size_t n = 0; n < kEach && ok; ++n) {
        const Segment local = at_a.Local(0, 8);
        SendRequest add = Request(Opcode::kFetchAdd, {&local, 1}, b().Remote(0));
        add.operand = 1;
        Completion completion;
        ok = Post(*at_a.queue_pair, add).ok() && PollForOne(at_a, at_b, completion) &&
             completion.status == CompletionStatus::kSuccess;
      }
      failed += !ok;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(b().GetWord(0), kThreads * kEach);
}

TEST_P(Threads, ConnectionsAndRegionsComeAndGoBesideEachOther) {
  constexpr size_t kThreads = 4;
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (uint64_t n = 1; n <= 10; ++n) {
        const End at_a(a().device, 4096);
        const End at_b(b().device, 4096);
        Completion completion;
        bool ok = Connect(*at_a.queue_pair, *at_b.queue_pair).ok();
        at_a.PutWord(0, n);
        ok = ok && Post(*at_a.queue_pair, Opcode::kWrite, at_a.Local(0, 8), at_b.Remote(8)).ok() &&
             PollForOne(at_a, at_b, completion) && completion.status == CompletionStatus::kSuccess &&
             at_b.GetWord(8) == n;
        failed += !ok;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
}

// One posts, one polls, one looks at the state; and it is closed in the midst of it.
TEST_P(Threads, OneQueuePairTakesCallsFromSeveral) {
  constexpr uint64_t kEnough = 500;
  for (int round = 0; round < 10; ++round) {
    const Connection connection = NewConnection();
    std::atomic<uint64_t> posted{0};
    std::atomic<bool> posting{true};
    uint64_t polled = 0;
    std::thread poster([&] {
      while (true) {
        const absl::Status status = Post(*connection.a, Opcode::kWrite, a().Local(0, 64), b().Remote(0));
        if (status.ok()) ++posted;
        if (absl::IsFailedPrecondition(status)) break;
        if (!status.ok()) std::this_thread::yield();
      }
      posting = false;
    });
    std::thread poller([&] {
      const absl::Time given_up = absl::Now() + kGuard;
      while ((posting || polled < posted) && absl::Now() < given_up) {
        fabric().Settle();
        polled += a().Poll().size();
        b().Poll();
        if (posted >= kEnough) connection.a->Close();
      }
      connection.a->Close();
    });
    std::thread watcher([&] {
      while (connection.a->RefreshState() != QueuePairState::kError) std::this_thread::yield();
      EXPECT_FALSE(connection.a->error().ok());
    });
    poster.join();
    poller.join();
    watcher.join();
    EXPECT_GE(posted, kEnough);
    EXPECT_EQ(polled, posted) << "every post is answered once";
  }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, Threads, EveryFabric(), FabricName);

}  // namespace
}  // namespace skein::fabric
