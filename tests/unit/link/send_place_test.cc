// No order of threads in a sender's place forgets what was asked, lets two in, or keeps anybody waiting: the product's
// own code in every interleaving, and with reads as late as C++ allows. With any one order of it weakened, one of these
// programs fails.
#include "core/link/send_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "tests/support/interleavings.h"

namespace skein::link {
namespace {

using interleavings::Check;
using interleavings::Explore;
using interleavings::Options;
using interleavings::Plain;
using interleavings::Program;
using interleavings::Result;
using interleavings::Weakening;

template <class Policy>
class World {
 public:
  using Place = BasicSendPlace<Policy>;
  struct Request : Place::Request {
    Request() : Place::Request(/*alone=*/false) {}
    Plain<int> done{0};  // by a leader, once
  };

  void Send() {
    Request request;
    if (place_.Join(request, [] {}) == coalesce::Turn::kLead) {
      auto batch = place_.Gather(request, 4, [](const auto&) { return true; });
      for (auto& each : batch) {
        auto& done = static_cast<Request&>(each).done;
        done.Set(done.Get() + 1);
        sent_.Set(sent_.Get() + 1);
      }
      Leave(batch);
    }
    Check(request.done.Get() == 1, "not done once");
  }
  void Visit() {
    typename Place::Request request;
    place_.Enter(request);
    sent_.Set(sent_.Get() + 1);
    typename Place::Batch batch(request);
    Leave(batch);
  }
  // The poller has read a message, and asks for upkeep.
  void Ask() {
    read_.store(++asks_, std::memory_order_relaxed);
    place_.Ask([this] { Serve(); });
  }
  void CheckEnd(int sent, int read) {
    Check(sent_.Get() == sent, "not all was sent");
    Check(heeded_.Get() == read, "what was asked is forgotten");
  }

 private:
  void Leave(typename Place::Batch& batch) {
    place_.Leave(batch, [this] { Serve(); });
  }
  void Serve() {
    const uint32_t read = read_.load(std::memory_order_relaxed);
    Check(read > 0, "what nobody has asked");
    heeded_.Set(static_cast<int>(read));
  }

  Place place_;
  Plain<int> sent_{0};    // of the place
  Plain<int> heeded_{0};  // of the place
  uint32_t asks_ = 0;     // of the poller
  interleavings::Atomic<uint32_t> read_{0};
};

// What each thread does, in order: 's'ends, 'v'isits, 'a'sks.
struct Scenario {
  std::vector<std::string> threads;
  Options options = {};
};

template <class Policy = interleavings::Atomics>
Result ExploreScenario(const Scenario& scenario, std::optional<Weakening> weakening = {}) {
  Options options = scenario.options;
  options.weakening = std::move(weakening);
  return Explore(
      [&] {
        auto world = std::make_shared<World<Policy>>();
        Program program;
        int sent = 0;
        int asked = 0;
        for (const std::string& does : scenario.threads) {
          for (const char each : does) ++(each == 'a' ? asked : sent);
          program.threads.emplace_back([=] {
            for (const char each : does) {
              if (each == 's') world->Send();
              if (each == 'v') world->Visit();
              if (each == 'a') world->Ask();
            }
          });
        }
        program.finally = [=] { world->CheckEnd(sent, asked); };
        return program;
      },
      options);
}

const std::map<std::string, Scenario>& Scenarios() {
  static const std::map<std::string, Scenario> scenarios = {
      {"a sender and a poller", {{"s", "a"}}},
      {"a visitor and a poller", {{"v", "a"}}},
      {"a sender and a visitor", {{"s", "v"}}},
      {"a sender and a poller that asks twice", {{"s", "aa"}, {.preemptions = 3}}},
      {"two messages and a poller", {{"ss", "a"}, {.preemptions = 3}}},
      {"two senders and a poller", {{"s", "s", "a"}, {.preemptions = 2}}},
      {"a sender, a visitor and a poller", {{"s", "v", "a"}, {.preemptions = 2}}},
  };
  return scenarios;
}

TEST(SendPlace, NoOrderForgetsWhatWasAsked) {
  for (const auto& [name, scenario] : Scenarios()) {
    const Result result = ExploreScenario(scenario);
    std::cout << name << ": " << result.schedules << " schedules" << std::endl;
    EXPECT_THAT(result.failure, ::testing::IsEmpty()) << name;
    EXPECT_GT(result.schedules, 10u) << name;
  }
}

// Those of send_place.h, and of what it alone uses of the queue. The queue's own tests weaken the others.
TEST(SendPlace, EachOrderIsNeeded) {
  std::vector<Weakening> weakenings;
  for (const auto& [name, scenario] : Scenarios()) {
    for (const Weakening& weakening : ExploreScenario(scenario).weakenings) {
      if (!absl::EndsWith(weakening.file, "send_place.h") && weakening.function != "TryJoin") continue;
      if (std::find(weakenings.begin(), weakenings.end(), weakening) == weakenings.end()) {
        weakenings.push_back(weakening);
      }
    }
  }
  EXPECT_EQ(weakenings.size(), 7u) << "two halves of Ask's, the exchange, two of those who have freed the place, and "
                                      "two halves of TryJoin's";
  for (const Weakening& weakening : weakenings) {
    std::string fails_in;
    for (const auto& [name, scenario] : Scenarios()) {
      if (fails_in.empty() && !ExploreScenario(scenario, weakening).failure.empty()) fails_in = name;
    }
    std::cout << weakening.function << ", line " << weakening.line << " as order " << static_cast<int>(weakening.order)
              << ": " << (fails_in.empty() ? "holds" : fails_in) << std::endl;
    EXPECT_THAT(fails_in, ::testing::Not(::testing::IsEmpty())) << weakening.function << ", line " << weakening.line;
  }
}

// Wakes no thread that sleeps in the queue.
struct NeverWakes : interleavings::Atomics {
  static void Unpark(const void*) {}
};

TEST(SendPlace, ABrokenPlaceIsCaught) {
  EXPECT_THAT(ExploreScenario<NeverWakes>({{"s", "v"}}).failure, ::testing::HasSubstr("deadlock"));
}

}  // namespace
}  // namespace skein::link
