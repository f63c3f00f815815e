// Completions on their way to the user.
#ifndef SKEIN_CORE_FABRIC_SIM_COMPLETION_QUEUE_H_
#define SKEIN_CORE_FABRIC_SIM_COMPLETION_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "core/fabric/fabric.h"
#include "core/fabric/sim/world.h"

namespace skein::fabric::sim {

class SimCompletionQueue final : public CompletionQueue {
 public:
  struct Entry {
    Completion completion;
    std::shared_ptr<Endpoint> endpoint;
    // Of a send: its place in its queue pair's order; polling it frees that slot and all before. 0 for receives.
    uint64_t sequence = 0;
  };

  SimCompletionQueue(std::shared_ptr<World> world, uint32_t capacity) : world_(std::move(world)), capacity_(capacity) {}

  size_t Poll(absl::Span<Completion> out) override;
  absl::Status Arm() override;
  int fd() const override { return -1; }
  void Wake() override;
  absl::Status Watch(int /*fd*/) override { return absl::OkStatus(); }
  void Forget(int /*fd*/) override {}
  void AckEvents() override;

  // The rest is the simulation's and used under World::mu.

  // A NIC loses completions that find the queue full, and with them the queue pair. This one keeps them and fails the
  // queue pair: as fatal, but nothing is left uncompleted.
  void Push(Entry entry);
  // Takes out what `endpoint` reported, but for shared receives: its queue pair is being destroyed.
  void Forget(const Endpoint* endpoint);
  bool signaled() const { return signaled_; }
  const World* world() const { return world_.get(); }

 private:
  const std::shared_ptr<World> world_;
  const size_t capacity_;
  std::deque<Entry> entries_;
  bool armed_ = false;
  bool signaled_ = false;  // what a descriptor's readability would be
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_COMPLETION_QUEUE_H_
