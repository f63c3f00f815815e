// A process' device of the simulation, which fails when it is told to, and counts what it has given and not got back.
#ifndef SKEIN_TESTS_CHAOS_FAULT_DEVICE_H_
#define SKEIN_TESTS_CHAOS_FAULT_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/fabric/sim/simulation.h"
#include "tests/sim/fault_completion_queue.h"
#include "tests/sim/fault_queue_pair.h"
#include "tests/sim/journal.h"
#include "tests/sim/link_end.h"
#include "tests/sim/wire_watch.h"

namespace skein::chaos {

// Which of the next calls are refused.
struct Refusals {
  uint64_t skip = 0;
  uint64_t times = 0;

  bool Next() {
    if (times == 0) return false;
    if (skip > 0) return --skip, false;
    --times;
    return true;
  }
};

// What has not been given back.
struct Lent {
  int64_t regions = 0;
  int64_t queue_pairs = 0;
  int64_t queues = 0;

  int64_t all() const { return regions + queue_pairs + queues; }
};

// What all devices of a world have in common. Outlives them.
struct Surroundings {
  fabric::Simulation& simulation;
  Journal& journal;
  LinkEnds ends;
  WireWatch* watch = nullptr;  // null: what is posted is nobody's business
  Lent lent;
};

// What links have of it is a LinkDevice. What is made belongs to the end of a link, which is told what befalls it.
class FaultDevice {
 public:
  FaultDevice(Surroundings& around, absl::string_view name, size_t process)
      : around_(around), device_(around.simulation.CreateDevice(name)), process_(process) {}

  // Faults.
  Refusals memory;
  Refusals queue_pairs;
  Refusals queues;
  Refusals long_queues;  // instead of being refused they are far too short
  // Of those that live; nullptr: none does.
  FaultQueuePair* QueuePairAt(uint64_t number);
  const std::vector<FaultQueuePair*>& made() const { return made_; }
  FaultQueuePair* Find(uint64_t id);
  void ReleaseCompletions();
  // Any of its queue pairs.
  bool any_failed() const;
  // Whether somebody who sleeps on any of its queues would be awake.
  bool WouldWake() const;

  size_t process() const { return process_; }
  absl::string_view name() const { return device_->name(); }
  fabric::DeviceCapabilities capabilities() const { return device_->capabilities(); }
  // As fabric::Device's, for `end`.
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Allocate(LinkEnd& end, size_t bytes, uint32_t access);
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Register(LinkEnd& end, absl::Span<std::byte> bytes,
                                                                 uint32_t access);
  absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> CreateCompletionQueue(LinkEnd& end, uint32_t capacity);
  absl::StatusOr<std::unique_ptr<fabric::SharedReceiveQueue>> CreateSharedReceiveQueue(LinkEnd& end, uint32_t receives);
  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> CreateQueuePair(const std::shared_ptr<LinkEnd>& end,
                                                                     const fabric::QueuePairOptions& options);

  // By what it has made.
  fabric::Simulation& simulation() const { return around_.simulation; }
  WireWatch* watch() const { return around_.watch; }
  LinkEnds& ends() const { return around_.ends; }
  Lent& lent() const { return around_.lent; }
  FaultQueuePair* OuterOf(const fabric::QueuePair* inner) const;
  void Forget(FaultQueuePair* queue_pair) { std::erase(made_, queue_pair); }
  void Forget(FaultCompletionQueue* queue) { std::erase(queues_made_, queue); }

 private:
  std::unique_ptr<fabric::MemoryRegion> Wrap(std::unique_ptr<fabric::MemoryRegion> region, uint32_t access);
  // True: `end` is refused something.
  bool Refuse(Refusals& refusals, FaultKind kind, LinkEnd& end);

  Surroundings& around_;
  const std::shared_ptr<fabric::Device> device_;
  const size_t process_;
  std::vector<FaultQueuePair*> made_;  // in that order
  std::vector<FaultCompletionQueue*> queues_made_;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_FAULT_DEVICE_H_
