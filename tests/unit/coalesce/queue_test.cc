// The queue on real threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "core/coalesce/combining_queue.h"

namespace skein::coalesce {
namespace {

using ::testing::ElementsAre;

struct Request : Entry<Request> {
  explicit Request(int name = 0) : name(name) {}
  int name;
  int copied = 0;
  int result = 0;
};
using Queue = CombiningQueue<Request>;

bool Always(const Request&) { return true; }

// Threads that join in the order of their names, while the test's own thread leads.
class FollowersTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(queue_.Join(own_), Turn::kLead); }

  // Until the queue has `count` more followers. Each serves a batch of one if it comes to lead.
  void Add(int count) {
    for (int i = 0; i < count; ++i) {
      const int name = static_cast<int>(threads_.size()) + 1;
      threads_.emplace_back([this, name] {
        Request request(name);
        const auto help = [&] { request.copied = request.name; };
        if (queue_.Join(request, help) == Turn::kLead) {
          led_.push_back(name);
          Batch<Request> batch(request);
          queue_.Finish(batch);
        } else {
          EXPECT_EQ(request.result, name * 10);
        }
      });
      while (queue_.Gather(own_, 100, Always).size() != threads_.size() + 1) std::this_thread::yield();
    }
  }
  std::vector<int> Names(const Batch<Request>& batch) {
    std::vector<int> names;
    for (Request& each : batch) names.push_back(each.name);
    return names;
  }
  void Serve(Batch<Request>& batch) {
    for (Request& each : batch) each.result = each.name * 10;
    queue_.Finish(batch);
    for (std::thread& thread : threads_) thread.join();
  }

  Queue queue_;
  Request own_;
  std::vector<std::thread> threads_;
  std::vector<int> led_;  // by leaders, one after the other
};

TEST(Queue, WhoIsAloneLeadsAgainAndAgain) {
  Queue queue;
  Request request;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(queue.Join(request), Turn::kLead);
    auto batch = queue.Gather(request, 8, Always);
    EXPECT_EQ(batch.size(), 1);
    EXPECT_EQ(&*batch.begin(), &request);
    queue.Finish(batch);
  }
}

TEST_F(FollowersTest, AreServedInTheirOrder) {
  Add(3);
  auto batch = queue_.Gather(own_, 100, Always);
  EXPECT_THAT(Names(batch), ElementsAre(0, 1, 2, 3));
  Serve(batch);
  EXPECT_THAT(led_, ElementsAre());
}

TEST_F(FollowersTest, LeadAfterABatchThatIsFull) {
  Add(4);
  auto batch = queue_.Gather(own_, 3, Always);
  EXPECT_THAT(Names(batch), ElementsAre(0, 1, 2));
  Serve(batch);
  EXPECT_THAT(led_, ElementsAre(3, 4));
}

TEST_F(FollowersTest, LeadIfTheyDoNotFit) {
  Add(3);
  auto batch = queue_.Gather(own_, 100, [](const Request& next) { return next.name != 2; });
  EXPECT_THAT(Names(batch), ElementsAre(0, 1));
  Serve(batch);
  EXPECT_THAT(led_, ElementsAre(2, 3));
}

TEST_F(FollowersTest, HelpThemselvesOrAreHelped) {
  Add(3);
  auto batch = queue_.Gather(own_, 100, Always);
  for (Request& each : batch) Queue::Offer(each);
  for (Request& each : batch) {
    if (Queue::Collect(each)) {
      EXPECT_NE(&each, &own_);
    } else {
      each.copied = each.name;
    }
    EXPECT_EQ(each.copied, each.name);
  }
  Serve(batch);
}

struct CountingAtomics : wait::SystemAtomics {
  static inline std::atomic<int> sleeps{0};
  static inline std::atomic<int> wakes{0};
  static void Park(const std::atomic<uint32_t>& word, uint32_t value) {
    ++sleeps;
    wait::SystemAtomics::Park(word, value);
  }
  static void Unpark(const void* address) {
    ++wakes;
    wait::SystemAtomics::Unpark(address);
  }
};
struct CountedRequest : Entry<CountedRequest, CountingAtomics> {};

// A leader with one follower, which sleeps. Returns what the follower was told.
Turn LetSleeperGo(size_t max_batch) {
  using CountedQueue = CombiningQueue<CountedRequest>;
  CountingAtomics::sleeps = CountingAtomics::wakes = 0;
  CountedQueue queue;
  CountedRequest own;
  EXPECT_EQ(queue.Join(own), Turn::kLead);
  Turn told = Turn::kDone;
  std::thread follower([&] {
    CountedRequest request;
    told = queue.Join(request, [] { ADD_FAILURE() << "woken to help"; });
    Batch<CountedRequest> batch(request);
    if (told == Turn::kLead) queue.Finish(batch);
  });
  while (CountingAtomics::sleeps == 0) std::this_thread::yield();
  auto batch = queue.Gather(own, max_batch, [](const CountedRequest&) { return true; });
  EXPECT_EQ(batch.size(), max_batch);
  for (CountedRequest& each : batch) CountedQueue::Offer(each);
  for (CountedRequest& each : batch) EXPECT_FALSE(CountedQueue::Collect(each));
  EXPECT_EQ(CountingAtomics::wakes, 0);
  queue.Finish(batch);
  follower.join();
  EXPECT_EQ(CountingAtomics::wakes, 1);
  return told;
}

TEST(Queue, ASleeperIsWokenOnceWhenItIsDone) { EXPECT_EQ(LetSleeperGo(2), Turn::kDone); }
TEST(Queue, ASleeperIsWokenOnceToLead) { EXPECT_EQ(LetSleeperGo(1), Turn::kLead); }

TEST(Queue, NobodyIsWokenWhereNobodySleeps) {
  CountingAtomics::wakes = 0;
  CombiningQueue<CountedRequest> queue;
  CountedRequest request;
  ASSERT_EQ(queue.Join(request), Turn::kLead);
  Batch<CountedRequest> batch(request);
  queue.Finish(batch);
  EXPECT_EQ(CountingAtomics::wakes, 0);
}

// More threads than processors, all that they do at once. A leader's own data, unguarded, shows who leads beside it.
class Crowd {
 public:
  static constexpr int kThreads = 32;
  static constexpr int kRounds = 1000;

  void Run() {
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int name = 0; name < kThreads; ++name) {
      threads.emplace_back([this, name] { RunOne(name); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(served_, uint64_t{kThreads} * kRounds);
    EXPECT_GT(largest_batch_, 1);  // or they never met
  }

 private:
  void RunOne(int name) {
    for (int round = 1; round <= kRounds; ++round) {
      auto request = std::make_unique<Request>(name);  // on the heap, where sanitizers see who comes too late
      int helped = 0;
      const Turn turn = queue_.Join(*request, [&] { request->copied = ++helped; });
      if (turn == Turn::kLead) Lead(*request, static_cast<size_t>(1 + round % 16));
      ASSERT_EQ(request->result, round);
      ASSERT_LE(helped, 1);
    }
  }
  void Lead(Request& own, size_t max) {
    if (max % 4 == 0) std::this_thread::yield();  // lets a queue form
    auto batch = queue_.Gather(own, max, Always);
    largest_batch_ = std::max(largest_batch_, batch.size());
    if (max % 2 == 0) {
      for (Request& each : batch) Queue::Offer(each);
      if (max % 8 == 0) std::this_thread::yield();  // lets them begin
    }
    for (Request& each : batch) {
      if (!Queue::Collect(each)) ++each.copied;
      ASSERT_EQ(each.copied, 1);
      ASSERT_EQ(each.result, 0);
      each.result = ++rounds_[each.name];
      ++served_;
    }
    queue_.Finish(batch);
  }

  Queue queue_;
  uint64_t served_ = 0;
  size_t largest_batch_ = 0;
  std::array<int, kThreads> rounds_{};
};

TEST(Queue, ServesACrowd) { Crowd().Run(); }

}  // namespace
}  // namespace skein::coalesce
