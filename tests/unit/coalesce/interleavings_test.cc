// The explorer itself: that it runs every order, and finds what is wrong in programs known to be wrong.
#include "tests/support/interleavings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace skein::interleavings {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Words {
  Atomic<uint32_t> x{0}, y{0};
  Plain<int> data{0};
  Plain<int> seen_x{-1}, seen_y{-1};
};

// A program of two threads over fresh Words; `finally` may look at them.
using Part = void (*)(Words&);
Result ExploreTwo(
    Part first, Part second, Part finally = [](Words&) {}, const Options& options = {}) {
  return Explore(
      [&] {
        auto words = std::make_shared<Words>();
        return Program{{[=] { first(*words); }, [=] { second(*words); }}, [=] { finally(*words); }};
      },
      options);
}

void ThreeExchanges(Words& words) {
  for (int i = 0; i < 3; ++i) words.x.exchange(0, std::memory_order_relaxed);
}

TEST(Interleavings, RunsEveryOrderOfDependentOperationsOnce) {
  const Result result = ExploreTwo(ThreeExchanges, ThreeExchanges);
  EXPECT_THAT(result.failure, IsEmpty());
  EXPECT_EQ(result.schedules, 20);  // 6 over 3
}

TEST(Interleavings, RunsIndependentOperationsInOneOrder) {
  const Result result =
      ExploreTwo(ThreeExchanges, [](Words& words) { words.y.exchange(0, std::memory_order_relaxed); });
  EXPECT_EQ(result.schedules, 1);
}

TEST(Interleavings, CountsPreemptions) {
  const auto schedules = [](int preemptions) {
    return ExploreTwo(ThreeExchanges, ThreeExchanges, [](Words&) {}, {.preemptions = preemptions}).schedules;
  };
  EXPECT_EQ(schedules(0), 2);
  EXPECT_EQ(schedules(1), 6);
  EXPECT_EQ(schedules(5), 20);
}

TEST(Interleavings, FindsALostUpdate) {
  const Part add = [](Words& words) {
    const uint32_t old = words.x.load(std::memory_order_seq_cst);
    words.x.store(old + 1, std::memory_order_seq_cst);
  };
  const Result result = ExploreTwo(
      add, add, [](Words& words) { Check(words.x.load(std::memory_order_relaxed) == 2, "an update was lost"); });
  EXPECT_THAT(result.failure, HasSubstr("an update was lost"));
  EXPECT_THAT(result.failure, HasSubstr("interleavings_test.cc"));  // the schedule
}

template <std::memory_order kStore, std::memory_order kLoad>
Result PassAMessage() {
  return ExploreTwo(
      [](Words& words) {
        words.data.Set(1);
        words.x.store(1, kStore);
      },
      [](Words& words) {
        if (words.x.load(kLoad) == 1) Check(words.data.Get() == 1, "an empty message");
      });
}

TEST(Interleavings, AMessageNeedsReleaseAndAcquire) {
  EXPECT_THAT((PassAMessage<std::memory_order_release, std::memory_order_acquire>().failure), IsEmpty());
  EXPECT_THAT((PassAMessage<std::memory_order_relaxed, std::memory_order_acquire>().failure), HasSubstr("races"));
  EXPECT_THAT((PassAMessage<std::memory_order_release, std::memory_order_relaxed>().failure), HasSubstr("races"));
}

// Dekker: both store, then look for the other's store.
template <std::memory_order kStore, std::memory_order kLoad>
Result StoreThenLook() {
  return ExploreTwo(
      [](Words& words) {
        words.x.store(1, kStore);
        words.seen_y.Set(static_cast<int>(words.y.load(kLoad)));
      },
      [](Words& words) {
        words.y.store(1, kStore);
        words.seen_x.Set(static_cast<int>(words.x.load(kLoad)));
      },
      [](Words& words) { Check(words.seen_x.Get() == 1 || words.seen_y.Get() == 1, "neither saw the other"); });
}

TEST(Interleavings, StoresMayBeSeenLateUnlessSequential) {
  EXPECT_THAT((StoreThenLook<std::memory_order_seq_cst, std::memory_order_seq_cst>().failure), IsEmpty());
  EXPECT_THAT((StoreThenLook<std::memory_order_release, std::memory_order_acquire>().failure), HasSubstr("neither"));
}

TEST(Interleavings, AThreadNeverReadsBackwards) {
  const Result result = ExploreTwo(
      [](Words& words) {
        words.x.store(1, std::memory_order_relaxed);
        words.x.store(2, std::memory_order_relaxed);
      },
      [](Words& words) {
        const uint32_t first = words.x.load(std::memory_order_relaxed);
        Check(words.x.load(std::memory_order_relaxed) >= first, "backwards");
      });
  EXPECT_THAT(result.failure, IsEmpty());
  EXPECT_GT(result.schedules, 6);  // late reads among them
}

TEST(Interleavings, FindsADeadlock) {
  const Part wait = [](Words& words) { Atomics::Await(words.x, 0u, std::memory_order_acquire); };
  EXPECT_THAT(ExploreTwo(wait, wait).failure, HasSubstr("deadlock"));
}

TEST(Interleavings, FindsALostWakeUp) {
  const Part wake_first = [](Words& words) {
    Atomics::Unpark(&words.x);
    words.x.store(1, std::memory_order_release);
  };
  const Part wake_last = [](Words& words) {
    words.x.store(1, std::memory_order_release);
    Atomics::Unpark(&words.x);
  };
  const Part sleep = [](Words& words) { Atomics::Park(words.x, 0); };
  EXPECT_THAT(ExploreTwo(wake_first, sleep).failure, HasSubstr("deadlock"));
  EXPECT_THAT(ExploreTwo(wake_last, sleep).failure, IsEmpty());
}

TEST(Interleavings, FindsAnEndThatSomebodyDoesNotExpect) {
  struct Shared {
    Atomic<Atomic<uint32_t>*> published{nullptr};
  };
  const auto explore = [](bool waits) {
    return Explore([=] {
      auto shared = std::make_shared<Shared>();
      return Program{{[=] {
                        Atomic<uint32_t> word{0};
                        shared->published.store(&word, std::memory_order_release);
                        if (waits) Atomics::Await(word, 0u, std::memory_order_acquire);
                      },
                      [=] {
                        Atomic<uint32_t>* const word = shared->published.load(std::memory_order_acquire);
                        if (word != nullptr) word->store(1, std::memory_order_release);
                        if (word == nullptr && waits) {
                          Atomics::Await(shared->published, static_cast<Atomic<uint32_t>*>(nullptr),
                                         std::memory_order_acquire)
                              ->store(1, std::memory_order_release);
                        }
                      }}};
    });
  };
  EXPECT_THAT(explore(true).failure, IsEmpty());
  EXPECT_THAT(explore(false).failure, HasSubstr("an atomic that"));
}

TEST(Interleavings, FindsWhatDoesNotEnd) {
  const Part forever = [](Words& words) {
    for (;;) words.x.exchange(0, std::memory_order_relaxed);
  };
  EXPECT_THAT(ExploreTwo(forever, [](Words&) {}).failure, HasSubstr("does not end"));
}

}  // namespace
}  // namespace skein::interleavings
