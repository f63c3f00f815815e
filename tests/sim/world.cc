#include "tests/sim/world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace skein::chaos {
namespace {

// Of refusals in a row.
constexpr uint64_t kMostRefusals = 4;

}  // namespace

fabric::SimConfig World::DrawConfig(Dice& dice) {
  fabric::SimConfig config;
  config.latency = dice.Between(absl::Nanoseconds(300), absl::Microseconds(5));
  config.jitter = dice.OneIn(4) ? absl::Microseconds(30) : absl::Microseconds(1);
  config.completion_cost = dice.OneIn(2) ? absl::ZeroDuration() : absl::Nanoseconds(50);
  config.write_spread = dice.OneIn(4) ? absl::Microseconds(10) : absl::Nanoseconds(500);
  config.retry_time = dice.Between(absl::Microseconds(50), absl::Milliseconds(1));
  config.announce_close = dice.OneIn(2);
  return config;
}

World::World(uint64_t seed, const WorldShape& shape, Journal& journal)
    : journal_(journal),
      dice_(seed),
      config_(DrawConfig(dice_)),
      simulation_(seed, config_),
      watch_(journal),
      around_{.simulation = simulation_,
              .journal = journal,
              .ends = {},
              .watch = shape.rings ? &watch_ : nullptr,
              .lent = {}},
      processes_(shape.processes) {
  for (size_t i = 0; i < processes_.size(); ++i) {
    processes_[i].name = absl::StrCat("p", i);
    Start(i);
  }
}

World::~World() = default;

void World::Start(size_t process) {
  Process& started = processes_[process];
  started.device = std::make_shared<FaultDevice>(around_, started.name, process);
}

void World::Kill(size_t process) {
  journal_.Count(FaultKind::kDeath);
  for (const FaultQueuePair* queue_pair : device(process)->made()) queue_pair->end()->Break();
  simulation_.KillDevice(processes_[process].name);
}

void World::BreakQueuePair(const Fault& fault) {
  FaultQueuePair* const victim = device(fault.process)->QueuePairAt(fault.number);
  if (victim == nullptr) return;
  journal_.Count(fault.kind);
  victim->Fail();
}

// One that ends before anybody's retry time has passed is a long flight, and nobody's excuse.
void World::Partition(const Fault& fault) {
  const bool breaks = fault.lasts >= config_.retry_time;
  bool counts = false;
  for (const FaultQueuePair* queue_pair : device(fault.process)->made()) {
    const std::shared_ptr<LinkEnd> peer = queue_pair->end()->peer();
    if (peer == nullptr || peer->process() != fault.peer) continue;
    counts = true;
    if (breaks) peer->Break();
  }
  if (counts) journal_.Count(fault.kind);
  if (breaks) around_.ends.Part(fault.process, fault.peer);
  const std::string& a = processes_[fault.process].name;
  const std::string& b = processes_[fault.peer].name;
  simulation_.Partition(a, b);
  simulation_.Schedule(fault.lasts, [this, a, b, fault] {
    simulation_.Heal(a, b);
    around_.ends.Heal(fault.process, fault.peer);
  });
}

void World::HoldCompletions(const Fault& fault) {
  FaultQueuePair* const victim = device(fault.process)->QueuePairAt(fault.number);
  if (victim == nullptr) return;
  journal_.Count(fault.kind);
  if (fault.kind == FaultKind::kLateCompletions) {
    return victim->HoldCompletionsUntil(simulation_.now() + fault.lasts);
  }
  victim->HoldCompletionsUntil(absl::InfiniteFuture());
  simulation_.Schedule(fault.lasts, [this, process = fault.process, id = victim->id()] {
    FaultQueuePair* const found = alive(process) ? device(process)->Find(id) : nullptr;
    if (found != nullptr && found->holds_completions()) found->Fail();
  });
}

void World::JumpClocks(const Fault& fault) {
  const bool back = fault.number % 3 == 0;
  if (!back) steady_offset_ += fault.number * fault.lasts;
  const absl::Duration jump = back ? -1000 * fault.lasts : fault.number * fault.number * fault.lasts;
  wall_offset_ += jump;
  wall_jumps_ += std::max(jump, absl::ZeroDuration());
}

void World::Apply(const Fault& fault) {
  FaultDevice& device = *processes_[fault.process].device;
  const Refusals refusals = {fault.number % kMostRefusals, 1 + fault.number % 7 % kMostRefusals};
  switch (fault.kind) {
    case FaultKind::kQueuePairError:
      return BreakQueuePair(fault);
    case FaultKind::kPartition:
      return Partition(fault);
    case FaultKind::kPause:
      journal_.Count(fault.kind);
      processes_[fault.process].paused_until = simulation_.now() + fault.lasts;
      return;
    case FaultKind::kLateCompletions:
    case FaultKind::kLostCompletions:
      return HoldCompletions(fault);
    case FaultKind::kNoMemory:
      device.memory = refusals;
      return;
    case FaultKind::kNoQueuePair:
      device.queue_pairs = refusals;
      return;
    case FaultKind::kNoQueue:
      device.queues = refusals;
      return;
    case FaultKind::kOverflow:
      device.long_queues = refusals;
      return;
    case FaultKind::kClockJump:
      journal_.Count(fault.kind);
      return JumpClocks(fault);
    case FaultKind::kDeath:
    case FaultKind::kClose:
      return;
  }
}

void World::Heal() {
  for (const Process& a : processes_) {
    for (const Process& b : processes_) simulation_.Heal(a.name, b.name);
  }
  around_.ends.HealAll();
  for (size_t i = 0; i < processes_.size(); ++i) {
    processes_[i].paused_until = absl::InfinitePast();
    FaultDevice& device = *processes_[i].device;
    device.ReleaseCompletions();
    device.memory = device.queue_pairs = device.queues = device.long_queues = {};
  }
}

void World::CheckNothingIsLeft() {
  const Lent& lent = around_.lent;
  journal_.Check(lent.all() == 0, "left: ", lent.regions, " memory regions, ", lent.queue_pairs, " queue pairs, ",
                 lent.queues, " queues");
}

}  // namespace skein::chaos
