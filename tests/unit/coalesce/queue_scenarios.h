// Small programs over the queue's own code, to be run in every interleaving: each request is done once, its thread sees
// the result, one leads at a time, a thread's requests keep their order, nobody waits for ever, and no request is
// touched after its thread has gone on.
#ifndef SKEIN_TESTS_UNIT_COALESCE_QUEUE_SCENARIOS_H_
#define SKEIN_TESTS_UNIT_COALESCE_QUEUE_SCENARIOS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <iostream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/coalesce/combining_queue.h"
#include "tests/support/interleavings.h"

namespace skein::coalesce {

using interleavings::Check;
using interleavings::Options;
using interleavings::Plain;
using interleavings::Program;
using interleavings::Result;

template <class Policy>
struct Request : Entry<Request<Policy>, Policy> {
  Request(int thread, int number) : thread(thread), number(number) {}
  const int thread;
  const int number;           // of its thread's requests, from 1
  Plain<int> destination{0};  // told by the leader to who helps itself
  Plain<int> copied{0};       // to there
  Plain<int> result{0};       // by the leader
};

struct Scenario {
  std::string name;
  std::vector<int> threads;  // how many requests each makes
  size_t max_batch = 2;
  bool helps = false;
};

template <class Policy>
class World {
 public:
  explicit World(const Scenario& scenario) : scenario_(scenario) {}

  void Run(int thread) {
    for (int number = 1; number <= scenario_.threads[thread]; ++number) JoinOnce(thread, number);
  }

  void CheckAllDone() {
    const std::vector<int>& each = scenario_.threads;
    Check(done_.Get() == std::accumulate(each.begin(), each.end(), 0), "not each request was done once");
  }

 private:
  using Queue = CombiningQueue<Request<Policy>>;

  void JoinOnce(int thread, int number) {
    Request<Policy> request(thread, number);
    const auto help = [&] { request.copied.Set(request.destination.Get()); };
    if (queue_.Join(request, help) == Turn::kLead) {
      const auto fits = [](const Request<Policy>&) { return true; };
      Batch<Request<Policy>> batch = queue_.Gather(request, scenario_.max_batch, fits);
      Do(batch);
      queue_.Finish(batch);
    }
    Check(request.result.Get() > 0, "let go before it was done");
  }

  void Do(Batch<Request<Policy>>& batch) {
    if (scenario_.helps) {
      for (Request<Policy>& each : batch) each.destination.Set(each.number);
      for (Request<Policy>& each : batch) Queue::Offer(each);
    }
    for (Request<Policy>& each : batch) {
      const bool helped = Queue::Collect(each);
      Check(scenario_.helps || !helped, "helped without an offer");
      if (!helped) each.copied.Set(each.number);
      Check(each.copied.Get() == each.number, "collected before it was copied");
      Check(each.result.Get() == 0, "done twice");
      Check(last_number_[each.thread].Get() + 1 == each.number, "out of order");
      last_number_[each.thread].Set(each.number);
      done_.Set(done_.Get() + 1);
      each.result.Set(done_.Get());
    }
  }

  const Scenario& scenario_;
  Queue queue_;
  Plain<int> done_;  // the leaders'
  std::array<Plain<int>, 3> last_number_;
};

template <class Policy = interleavings::Atomics>
Result ExploreScenario(const Scenario& scenario, const Options& options = {}) {
  return interleavings::Explore(
      [&] {
        auto world = std::make_shared<World<Policy>>(scenario);
        Program program;
        for (size_t thread = 0; thread < scenario.threads.size(); ++thread) {
          program.threads.emplace_back([=] { world->Run(static_cast<int>(thread)); });
        }
        program.finally = [=] { world->CheckAllDone(); };
        return program;
      },
      options);
}

// Small enough for every order.
inline const Scenario kTwoOnce{"two threads, one request each", {1, 1}};
inline const Scenario kTwoHelp{"two threads that help themselves", {1, 1}, 2, true};
inline const Scenario kHandOver{"two threads, one request each, batches of one", {1, 1}, 1};
inline const Scenario kTwice{"two requests, and one", {2, 1}};
// Large: with a bound, or for long.
inline const Scenario kTwoTwice{"two threads, two requests each", {2, 2}};
inline const Scenario kThree{"three threads, one request each", {1, 1, 1}};
inline const Scenario kThreeHelp{"three threads that help themselves, batches of three", {1, 1, 1}, 3, true};
inline const Scenario kThreeTwice{"three threads, two requests of one", {2, 1, 1}};

inline void ExpectHolds(const Scenario& scenario, const Options& options = {}) {
  const Result result = ExploreScenario(scenario, options);
  std::cout << scenario.name << ": " << result.schedules << " schedules, " << result.cut_short << " cut short"
            << std::endl;
  EXPECT_THAT(result.failure, ::testing::IsEmpty()) << scenario.name;
}

}  // namespace skein::coalesce

#endif  // SKEIN_TESTS_UNIT_COALESCE_QUEUE_SCENARIOS_H_
