// Calls below HTTP/2 under everything that may befall them: programs that pause, cancel, let time run out and end
// early; channels that are replaced, servers that shut down, connections that are cut. All that is chosen follows from
// a seed; the order of the threads does not.
//
//     calls_chaos_test [--seed=FIRST] [--worlds=N]
//
// A world is a server, some channels and their callers. Each world keeps these promises, whatever happens:
// - a message is the one that was sent, whole, in its place, once;
// - a handler has a call once at most;
// - a call ends by its plan, with all of its messages, or for a reason: it was cancelled, its time had run out, its
//   connection was cut, or the server ended;
// - nothing is left of it: no call at either end, no connection, no memory of the quota, no descriptor, no thread.
#include <grpc/grpc.h>
#include <skein/grpc.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/caller.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/ends.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/journal.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/leftovers.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/plan.h"

namespace skein::calls_chaos {
namespace {

uint64_t first_seed = 1;
uint64_t worlds = 6;

// Of a world.
constexpr size_t kChannels = 3;
constexpr size_t kCallers = 12;
constexpr size_t kCallsEach = 25;

// Nobody tells of the end of these things.
bool Becomes(const std::function<bool()>& true_of) {
  for (const absl::Time end = absl::Now() + kPatience; absl::Now() < end; absl::SleepFor(absl::Milliseconds(2))) {
    if (true_of()) return true;
  }
  return false;
}

class World {
 public:
  World(uint64_t seed, size_t events) : seed_(seed), events_(events), dice_(seed), journal_(seed, kChannels) {
    quota_.Resize(kQuotaBytes);
  }

  void Live() {
    {
      Ends ends(journal_, dice_, quota_, kChannels);
      std::vector<std::thread> callers;
      for (size_t i = 0; i < kCallers; ++i) callers.emplace_back([&, i] { MakeCalls(ends, i); });
      // Between two of them pass so many calls, more or less.
      const size_t apart = kCallers * kCallsEach / (events_ + 1);
      for (size_t i = 0; i < events_; ++i) {
        journal_.AwaitEnded(i * apart + dice_.Between(apart / 2, apart));
        Befall(ends);
      }
      journal_.AwaitEnded(kCallers * kCallsEach);
      for (std::thread& caller : callers) caller.join();
      EXPECT_TRUE(Becomes([] { return CallsListed() == 0; })) << CallsListed() << " calls are left";
    }
    EXPECT_TRUE(Becomes([] { return Paths().empty(); })) << Paths().size() << " connections are left";
    EXPECT_TRUE(Becomes([this] { return BytesUsed(quota_) == 0; })) << BytesUsed(quota_) << " bytes are left";
  }
  std::map<std::string, int> outcomes() { return journal_.outcomes(); }

 private:
  void MakeCalls(const Ends& ends, size_t caller) {
    const size_t channel = caller % kChannels;
    for (size_t i = 0; i < kCallsEach; ++i) {
      const uint64_t number = (seed_ * kCallers + caller) * kCallsEach + i + 1;
      MakeCall(journal_, ends, channel, number * 2 + (Ends::Retries(channel) ? 1 : 0));
    }
  }

  void Befall(Ends& ends) {
    const size_t channel = dice_.Below(kChannels);
    switch (dice_.Below(7)) {
      case 0:
        return ends.Replace(channel);
      case 1:
        return ends.Restart(kPatience);
      case 2:
        return ends.Restart(absl::ZeroDuration());
      case 3:
        return ends.Restart(dice_.Between(absl::Milliseconds(1), absl::Milliseconds(30)));
      default:
        return ends.Cut(channel, /*at_client=*/dice_.OneIn(2));
    }
  }

  const uint64_t seed_;
  const size_t events_;
  Dice dice_;
  grpc::ResourceQuota quota_{"world"};
  Journal journal_;
};

TEST(CallsChaosTest, EachCallEndsByItsPlanOrForAReasonAndNothingIsLeft) {
  // By the end of a world in which nothing happens, gRPC and Skein have made all that they keep for ever.
  grpc_init();
  World(/*seed=*/0, /*events=*/0).Live();
  grpc_shutdown_blocking();
  const size_t threads = Threads();
  const size_t descriptors = Descriptors();

  grpc_init();
  std::map<std::string, int> outcomes;
  uint64_t seed = first_seed;
  for (; seed < first_seed + worlds && !HasFailure(); ++seed) {
    World world(seed, Dice(seed).Between(4, 12));
    world.Live();
    for (const auto& [outcome, calls] : world.outcomes()) outcomes[outcome] += calls;
  }
  grpc_shutdown_blocking();
  EXPECT_TRUE(Becomes([&] { return Threads() <= threads; })) << Threads() << " threads, " << threads << " before";
  EXPECT_TRUE(Becomes([&] { return Descriptors() <= descriptors; }))
      << Descriptors() << " descriptors, " << descriptors << " before";

  std::printf("seeds %llu to %llu:", static_cast<unsigned long long>(first_seed),
              static_cast<unsigned long long>(seed - 1));
  for (const auto& [outcome, calls] : outcomes) std::printf(" %d %s,", calls, outcome.c_str());
  std::printf(" of %llu calls\n", static_cast<unsigned long long>((seed - first_seed) * kCallers * kCallsEach));
  // One world may lack some.
  if (worlds < 4 || HasFailure()) return;
  for (const char* outcome : {"as planned", "cancelled", "expired", "cut", "lost with the server"}) {
    EXPECT_GT(outcomes[outcome], 0) << "no call was " << outcome;
  }
}

bool TakeFlag(absl::string_view argument, absl::string_view name, uint64_t& value) {
  return absl::ConsumePrefix(&argument, name) && absl::SimpleAtoi(argument, &value);
}

}  // namespace
}  // namespace skein::calls_chaos

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (skein::calls_chaos::TakeFlag(argv[i], "--seed=", skein::calls_chaos::first_seed)) continue;
    if (skein::calls_chaos::TakeFlag(argv[i], "--worlds=", skein::calls_chaos::worlds)) continue;
    std::fprintf(stderr, "calls_chaos_test [--seed=FIRST] [--worlds=N], not %s\n", argv[i]);
    return 1;
  }
  if (!skein::grpc_transport::Init().ok()) return 1;
  return RUN_ALL_TESTS();
}
