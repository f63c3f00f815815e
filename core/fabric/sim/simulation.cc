#include "core/fabric/sim/simulation.h"

#include <utility>
#include <vector>

#include "core/fabric/sim/device.h"
#include "core/fabric/sim/endpoint.h"
#include "core/fabric/sim/world.h"

namespace skein::fabric {

Simulation::Simulation(uint64_t seed, const SimConfig& config) : world_(std::make_shared<sim::World>(seed, config)) {}

Simulation::~Simulation() = default;

std::shared_ptr<Device> Simulation::CreateDevice(absl::string_view name) {
  MutexLock lock(&world_->mu);
  std::weak_ptr<sim::SimDevice>& known = world_->devices[name];
  if (auto device = known.lock()) return device;
  auto state = std::make_shared<sim::DeviceState>(++world_->last_number, std::string(name), world_->config);
  auto device = std::make_shared<sim::SimDevice>(world_, std::move(state));
  known = device;
  return device;
}

absl::Time Simulation::now() const {
  MutexLock lock(&world_->mu);
  return world_->events.now();
}

size_t Simulation::pending_events() const {
  MutexLock lock(&world_->mu);
  return world_->events.size();
}

bool Simulation::Step() {
  sim::EventQueue::Event event;
  {
    MutexLock lock(&world_->mu);
    if (world_->events.size() == 0) return false;
    event = world_->events.PopNext();
    if (!event.external) event.action();
  }
  if (event.external) event.action();
  return true;
}

void Simulation::RunUntilIdle() {
  while (Step()) {
  }
}

void Simulation::RunFor(absl::Duration duration) {
  const absl::Time end = now() + duration;
  while (true) {
    {
      MutexLock lock(&world_->mu);
      if (world_->events.next_time() > end) return world_->events.AdvanceTo(end);
    }
    Step();
  }
}

void Simulation::Schedule(absl::Duration delay, absl::AnyInvocable<void()> action) {
  MutexLock lock(&world_->mu);
  world_->events.At(world_->events.now() + delay, std::move(action), /*external=*/true);
}

void Simulation::KillDevice(absl::string_view name) {
  MutexLock lock(&world_->mu);
  const auto found = world_->devices.find(name);
  if (found == world_->devices.end()) return;
  if (const auto device = found->second.lock()) device->state().alive = false;
  world_->devices.erase(found);
  for (const auto& [number, endpoint] : world_->endpoints) {
    if (endpoint->device().alive) continue;
    endpoint->Fail(CompletionStatus::kFlushed, absl::UnavailableError("the device was killed"));
  }
}

void Simulation::Partition(absl::string_view a, absl::string_view b) {
  MutexLock lock(&world_->mu);
  world_->network.Partition(a, b);
  for (const auto& [number, endpoint] : world_->endpoints) endpoint->PeerChanged();
}

void Simulation::Heal(absl::string_view a, absl::string_view b) {
  MutexLock lock(&world_->mu);
  world_->network.Heal(a, b);
  for (const auto& [number, endpoint] : world_->endpoints) endpoint->PeerChanged();
}

bool Simulation::Partitioned(absl::string_view a, absl::string_view b) const {
  MutexLock lock(&world_->mu);
  return world_->network.Blocked(a, b);
}

bool Simulation::FailQueuePair(QueuePair* queue_pair) {
  MutexLock lock(&world_->mu);
  for (const auto& [number, endpoint] : world_->endpoints) {
    if (endpoint->handle() != queue_pair) continue;
    world_->events.After(absl::ZeroDuration(), [failing = endpoint->shared_from_this()] {
      failing->Fail(CompletionStatus::kFatal, absl::InternalError("the device reported a fatal queue pair error"));
    });
    return true;
  }
  return false;
}

void Simulation::OnReadServed(absl::string_view name, absl::AnyInvocable<void()> action) {
  MutexLock lock(&world_->mu);
  world_->on_read_served[name] = std::make_shared<absl::AnyInvocable<void()>>(std::move(action));
}

void Simulation::OnFlushServed(absl::string_view name, absl::AnyInvocable<void(absl::Span<const std::byte>)> action) {
  MutexLock lock(&world_->mu);
  world_->on_flush_served[name] =
      std::make_shared<absl::AnyInvocable<void(absl::Span<const std::byte>)>>(std::move(action));
}

bool Simulation::WouldWake(const CompletionQueue* queue) const {
  const auto* sim_queue = dynamic_cast<const sim::SimCompletionQueue*>(queue);
  if (sim_queue == nullptr || sim_queue->world() != world_.get()) return false;
  MutexLock lock(&world_->mu);
  return sim_queue->signaled();
}

}  // namespace skein::fabric
