// No order of a writer, a reader and their sleep loses a wake-up or a message: the product's own functions in every
// interleaving, and with reads as late as C++ allows. With any one order of them weakened, one of these programs fails.
#include "core/channel/shm/handover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <memory>

#include "tests/support/interleavings.h"

namespace skein::channel::shm {
namespace {

using interleavings::Check;
using interleavings::Options;
using interleavings::Plain;
using interleavings::Program;
using interleavings::Result;
using interleavings::Wakeup;
using interleavings::Weakening;
using interleavings::Where;

// Of this file's own operations, which are not weakened: beyond any line of handover.h.
constexpr Where kOwn = {"handover_test.cc", 1000};

// The explorer knows no fences: an exchange of one word orders as they do.
interleavings::Atomic<uint32_t>* fence_word = nullptr;

struct ExploredWords {
  template <class T>
  using Atomic = interleavings::Atomic<T>;
  static void Fence(Where where = Where::Current()) { fence_word->exchange(0, std::memory_order_acq_rel, where); }
};

using Explored = Handover<ExploredWords>;
using Position = Explored::Position;
using Flag = Explored::Flag;

;

struct World {
  World() { fence_word = &fence; }
  Flag fence{0};
  // Of one direction: a FIFO with space for one message.
  Position published{0};
  Position consumed{0};
  Position wakes_at{0};
  Plain<int> place{0};
  // Of its reader, and of its writer.
  Flag reader_sleeps{0};
  Flag writer_sleeps{0};
  Wakeup readers_wakeup{kOwn};
  Wakeup writers_wakeup{kOwn};
  Plain<int> read{0};

  void Write(int number) {
    place.Set(number);
    if (Explored::Publish(published, number, reader_sleeps)) readers_wakeup.Ring();
  }
  bool HasSpace(int number) { return Explored::ConsumedByPeer(consumed) + 1 >= static_cast<uint64_t>(number); }

  // Reads message `number`, sleeping until it is there.
  void Read(int number) {
    const auto is_there = [&] { return Explored::Published(published) >= static_cast<uint64_t>(number); };
    while (!is_there()) {
      Explored::GoToSleep(reader_sleeps);
      if (is_there()) {
        Explored::StayAwake(reader_sleeps);
        break;
      }
      readers_wakeup.Sleep();
    }
    Check(place.Get() == number, "another message");
    read.Set(number);
    Explored::Consume(consumed, number);
    if (Explored::Consumed(number, wakes_at, writer_sleeps)) writers_wakeup.Ring();
  }
};

// One thread sends and polls, with space for one message.
void SendAlone(World& world, int messages) {
  for (int number = 1; number <= messages; ++number) {
    while (!world.HasSpace(number)) {
      Explored::WakeAt(world.wakes_at, number - 1);
      if (world.HasSpace(number)) break;
      Explored::GoToSleep(world.writer_sleeps);
      if (Explored::Reached(world.wakes_at, world.consumed)) {
        Explored::StayAwake(world.writer_sleeps);
        continue;
      }
      world.writers_wakeup.Sleep();
    }
    Explored::NeedNotWake(world.wakes_at);
    world.Write(number);
  }
}

Program Alone(int messages) {
  auto world = std::make_shared<World>();
  Program program;
  program.threads.emplace_back([=] { SendAlone(*world, messages); });
  program.threads.emplace_back([=] {
    for (int number = 1; number <= messages; ++number) world->Read(number);
  });
  program.finally = [=] { Check(world->read.Get() == messages, "not everything was read"); };
  return program;
}

// One thread sends the second message and lacks space for it, another polls for it.
Program Apart() {
  auto world = std::make_shared<World>();
  auto sent = std::make_shared<Flag>(0);  // the link's lock between the two
  world->place.Set(1);
  world->published.store(1, std::memory_order_release, kOwn);
  Program program;
  program.threads.emplace_back([=] {
    if (!world->HasSpace(2)) Explored::WakeAt(world->wakes_at, 1);
    if (!world->HasSpace(2)) return;  // the poller sends it
    if (sent->exchange(1, std::memory_order_acq_rel, kOwn) == 0) {
      world->Write(2);
      world->writers_wakeup.Ring();  // no longer awaited
    }
  });
  program.threads.emplace_back([=] {
    for (;;) {
      Explored::GoToSleep(world->writer_sleeps);
      if (!Explored::Reached(world->wakes_at, world->consumed)) world->writers_wakeup.Sleep();
      if (sent->load(std::memory_order_acquire, kOwn) != 0) return;
      if (Explored::Reached(world->wakes_at, world->consumed) && world->HasSpace(2)) break;
    }
    if (sent->exchange(1, std::memory_order_acq_rel, kOwn) == 0) world->Write(2);
  });
  program.threads.emplace_back([=] {
    world->Read(1);
    world->Read(2);
  });
  program.finally = [=] { Check(world->read.Get() == 2, "not everything was read"); };
  return program;
}

const std::map<std::string, std::function<Program()>>& Programs() {
  static const std::map<std::string, std::function<Program()>> programs = {
      {"one message", [] { return Alone(1); }},
      {"two messages, space for one", [] { return Alone(2); }},
      {"a sender and a poller", [] { return Apart(); }},
  };
  return programs;
}

Options Bounded(std::optional<Weakening> weakening = {}) {
  Options options;
  options.preemptions = 3;
  options.weakening = weakening;
  return options;
}

TEST(Handover, NoOrderLosesAWakeUp) {
  for (const auto& [name, make] : Programs()) {
    const Result result = Explore(make, Bounded());
    std::cout << name << ": " << result.schedules << " schedules" << std::endl;
    EXPECT_THAT(result.failure, ::testing::IsEmpty()) << name;
    EXPECT_GT(result.schedules, 50u) << name;
  }
}

// Each order stands for something: which one is weakened is told by its line.
TEST(Handover, EachOrderIsNeeded) {
  std::map<uint32_t, std::vector<Weakening>> weakenings;
  for (const auto& [name, make] : Programs()) {
    for (const Weakening& weakening : Explore(make, Bounded()).weakenings) {
      std::vector<Weakening>& known = weakenings[weakening.line];
      if (std::find(known.begin(), known.end(), weakening) == known.end()) known.push_back(weakening);
    }
  }
  int needed = 0;
  for (const auto& [line, orders] : weakenings) {
    for (const Weakening& weakening : orders) {
      if (weakening.line == kOwn.line) continue;
      std::string fails_in;
      for (const auto& [name, make] : Programs()) {
        if (fails_in.empty() && !Explore(make, Bounded(weakening)).failure.empty()) fails_in = name;
      }
      std::cout << "handover.h:" << line << " as order " << static_cast<int>(weakening.order) << ": "
                << (fails_in.empty() ? "holds" : fails_in) << std::endl;
      EXPECT_THAT(fails_in, ::testing::Not(::testing::IsEmpty())) << "line " << line;
      ++needed;
    }
  }
  EXPECT_GE(needed, 9) << "release and acquire of two positions, and four fences' halves";
}

}  // namespace
}  // namespace skein::channel::shm
