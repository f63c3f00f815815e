// An end that reads and tells, its peer that lacks space, and another thread in the reading end's sender's place: no
// order of the three leaves the peer asleep over space that there is, or has a message written over that is still being
// read. The product's own functions in every interleaving, with reads as late as C++ allows. With any one order of
// theirs weakened, or any one rule left out, one of these programs fails.
#include "core/channel/ring/handover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "core/link/send_place.h"
#include "tests/support/interleavings.h"

namespace skein::channel {
namespace {

using interleavings::Atomic;
using interleavings::Check;
using interleavings::Explore;
using interleavings::Options;
using interleavings::Plain;
using interleavings::Program;
using interleavings::Result;
using interleavings::Wakeup;
using interleavings::Weakening;
using interleavings::Where;

constexpr uint64_t kSecret = 0x5ec3e7;
constexpr uint64_t kRead = 64;          // the one message that is read
constexpr uint64_t kFarAway = 1 << 20;  // the quarter of a ring
// Of this file's own operations, which are not weakened.
constexpr Where kOwn = {"handover_test.cc", 1};

// The words that the device writes, where the product has plain memory.
Atomic<uint64_t>* line_words = nullptr;

struct ExploredWords {
  template <class T>
  using Atomic = interleavings::Atomic<T>;
  static uint64_t Load(uint64_t* word, std::memory_order order, Where where = Where::Current()) {
    return line_words[reinterpret_cast<uintptr_t>(word) / sizeof(uint64_t) - 1].load(order, where);
  }
};

struct Rules {
  bool poller_settles = true;         // behind a thread that heeds in its stead
  bool answers_what_was_told = true;  // what the peer wants, though it was told before it wanted
  bool looks_until_whole = true;      // at a line of which parts have landed: it does not sleep
};

class World {
 public:
  World(const Rules& rules, bool says_more) : rules_(rules), says_more_(says_more) { line_words = line_; }

  // The poller of the reading end: finds a message, and polls until the peer has what it wants.
  void Poll() {
    bool has_read = false;
    bool left = false;
    while (over_.load(std::memory_order_acquire, kOwn) == 0) {
      const bool due = peer_.news() || consumption_.due();
      bool lands = false;
      if (due) {
        left = true;
        place_.Ask([&] {
          lands = Upkeep();
          left = false;
        });
      }
      if (!std::exchange(has_read, true)) {
        Check(slot_.Get() == 1, "another message");
        consumption_.Consume(kRead);
      } else if (lands) {
        // The poller looks until the line is whole.
        (rules_.looks_until_whole ? landed_ : wakeup_).Sleep();
      } else if (std::exchange(left, false) ? !(rules_.poller_settles && Settle()) : !due) {
        wakeup_.Sleep();
      }
    }
  }
  // A sender of the reading end, whose message takes a line along.
  void Send() {
    Place::Request request;
    place_.Enter(request);
    Tell(consumption_.consumed(), /*rings=*/false);
    Place::Batch batch(request);
    place_.Leave(batch, [this] { DoLeftUpkeep(); });
  }
  // The peer, which lacks space: its line lands, and its notification after that; then perhaps another line, without a
  // notification.
  void Want() {
    if (told_.load(std::memory_order_acquire, kOwn) < kRead) {
      Land({.wanted = kRead});
      wakeup_.Ring();
      if (says_more_) Land({.consumed = 1, .wanted = kRead});
    }
    while (told_.load(std::memory_order_acquire, kOwn) < kRead) peers_pipe_.Sleep();
    slot_.Set(2);  // the next message lies there
    over_.store(1, std::memory_order_release, kOwn);
    wakeup_.Ring();
  }

 private:
  using Place = link::BasicSendPlace<interleavings::Atomics>;

  // As SendQueue has it: waits behind who was asked. True: the upkeep is done, and the poller looks again.
  bool Settle() {
    Place::Request request;
    place_.Enter(request);
    Place::Batch batch(request);
    place_.Leave(batch, [this] { DoLeftUpkeep(); });
    return upkept_.exchange(0, std::memory_order_acquire, kOwn) != 0;
  }
  void DoLeftUpkeep() {
    Upkeep();
    upkept_.store(1, std::memory_order_release, kOwn);
  }
  // Word by word, the check last.
  void Land(const wire::Control& control) {
    const wire::ControlLine line = wire::EncodeControl(control, kSecret);
    for (size_t i = 0; i < 3; ++i) {
      if (line[i] != landed_words_[i]) line_[i].store(line[i], std::memory_order_relaxed, kOwn);
    }
    line_[3].store(line[3], std::memory_order_release, kOwn);
    landed_words_ = line;
    landed_.Ring();
  }
  // Heed and Tend, as ring_channel.cc has them. True: a line is still landing.
  bool Upkeep() {
    const bool lands = Heed();
    const uint64_t consumed = consumption_.consumed();
    if (wanted_.Get() > answered_.Get() && consumed >= wanted_.Get()) {
      answered_.Set(wanted_.Get());
      const bool is_told = told_here_.Get() >= consumed;
      if (rules_.answers_what_was_told || !is_told) Tell(consumed, /*rings=*/true);
    }
    consumption_.TellAt(wanted_.Get() > answered_.Get() ? wanted_.Get() : kFarAway);
    return lands;
  }
  bool Heed() {
    const std::optional<wire::Control> line = peer_.Look(/*heeds=*/true).value();
    if (line.has_value()) wanted_.Set(line->wanted);
    return !line.has_value() && peer_.news();
  }
  void Tell(uint64_t consumed, bool rings) {
    told_here_.Set(consumed);
    told_.store(consumed, std::memory_order_release, kOwn);
    if (rings) peers_pipe_.Ring();
  }

  const Rules rules_;
  const bool says_more_;
  Plain<int> slot_{1};
  Atomic<uint64_t> line_[wire::kControlWords] = {0, 0, 0, 0};
  BasicConsumption<ExploredWords> consumption_{kFarAway};
  BasicPeerControl<ExploredWords> peer_{reinterpret_cast<uint64_t*>(sizeof(uint64_t)), kSecret};
  Wakeup wakeup_{kOwn};
  Place place_;
  Atomic<uint32_t> upkept_{0};
  Plain<uint64_t> wanted_{0};  // the place's, as are the next two
  Plain<uint64_t> answered_{0};
  Plain<uint64_t> told_here_{0};
  // The peer's.
  wire::ControlLine landed_words_ = {};
  Wakeup landed_{kOwn};
  Atomic<uint64_t> told_{0};
  Wakeup peers_pipe_{kOwn};
  Atomic<uint32_t> over_{0};
};

struct Scenario {
  std::string name;
  bool sender = false;
  bool says_more = false;
};
const std::vector<Scenario>& Scenarios() {
  static const std::vector<Scenario> scenarios = {{"a poller and its peer", false, true}, {"a sender as well", true}};
  return scenarios;
}

Result ExploreScenario(const Scenario& scenario, const Rules& rules = {}, std::optional<Weakening> weakening = {}) {
  Options options;
  options.preemptions = 2;
  options.weakening = std::move(weakening);
  return Explore(
      [&] {
        auto world = std::make_shared<World>(rules, scenario.says_more);
        Program program;
        program.threads.emplace_back([=] { world->Poll(); });
        program.threads.emplace_back([=] { world->Want(); });
        if (scenario.sender) program.threads.emplace_back([=] { world->Send(); });
        return program;
      },
      options);
}

TEST(RingHandover, NoOrderLosesWhatIsWantedAndEachMemoryOrderIsNeeded) {
  std::vector<Weakening> weakenings;
  for (const Scenario& scenario : Scenarios()) {
    const Result result = ExploreScenario(scenario);
    std::cout << scenario.name << ": " << result.schedules << " schedules" << std::endl;
    ASSERT_THAT(result.failure, ::testing::IsEmpty()) << scenario.name;
    EXPECT_GT(result.schedules, 50u) << scenario.name;
    for (const Weakening& weakening : result.weakenings) {
      if (!absl::EndsWith(weakening.file, "ring/handover.h")) continue;
      if (std::find(weakenings.begin(), weakenings.end(), weakening) == weakenings.end()) {
        weakenings.push_back(weakening);
      }
    }
  }
  EXPECT_EQ(weakenings.size(), 2u) << "release and acquire of what is consumed";
  for (const Weakening& weakening : weakenings) {
    std::string fails_in;
    for (const Scenario& scenario : Scenarios()) {
      if (fails_in.empty() && !ExploreScenario(scenario, {}, weakening).failure.empty()) fails_in = scenario.name;
    }
    std::cout << weakening.function << ", line " << weakening.line << " as order " << static_cast<int>(weakening.order)
              << ": " << (fails_in.empty() ? "holds" : fails_in) << std::endl;
    EXPECT_THAT(fails_in, ::testing::Not(::testing::IsEmpty())) << weakening.function << ", line " << weakening.line;
  }
}

TEST(RingHandover, EachRuleIsNeeded) {
  const Scenario& all = Scenarios().back();
  EXPECT_THAT(ExploreScenario(all, {.poller_settles = false}).failure, ::testing::HasSubstr("deadlock"));
  EXPECT_THAT(ExploreScenario(all, {.answers_what_was_told = false}).failure, ::testing::HasSubstr("deadlock"));
  EXPECT_THAT(ExploreScenario(Scenarios().front(), {.looks_until_whole = false}).failure,
              ::testing::HasSubstr("deadlock"));
}

// Here, since it takes minutes with a sanitizer.
TEST(RingHandover, APeerWhoseLineNeverBecomesWholeKeepsNobodyAwakeForEver) {
  uint64_t words[wire::kControlWords] = {1, 2, 3, 4};
  PeerControl control(words, kSecret);
  for (uint32_t look = 1; look < PeerControl::kMostLooks; ++look) ASSERT_TRUE(control.Look(/*heeds=*/true).ok());
  EXPECT_TRUE(absl::IsDataLoss(control.Look(/*heeds=*/true).status()));
}

}  // namespace
}  // namespace skein::channel
