// Two devices of one simulation with a queue pair each, connected; every test here starts from it.
#ifndef SKEIN_TESTS_UNIT_FABRIC_SIM_PAIR_H_
#define SKEIN_TESTS_UNIT_FABRIC_SIM_PAIR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/fabric/sim/simulation.h"

namespace skein::fabric {

struct End {
  std::shared_ptr<Device> device;
  std::unique_ptr<CompletionQueue> queue;
  std::unique_ptr<MemoryRegion> memory;
  std::unique_ptr<QueuePair> queue_pair;

  End(Simulation& simulation, absl::string_view name, size_t bytes = 1 << 16) {
    device = simulation.CreateDevice(name);
    queue = device->CreateCompletionQueue(1024).value();
    memory = device->Allocate(bytes, kRemoteWrite | kRemoteRead | kRemoteAtomic).value();
    queue_pair = NewQueuePair();
  }

  std::unique_ptr<QueuePair> NewQueuePair() {
    QueuePairOptions options;
    options.send_queue = queue.get();
    options.receive_queue = queue.get();
    return device->CreateQueuePair(options).value();
  }

  std::byte* at(size_t offset) const { return memory->bytes().data() + offset; }
  Segment Local(size_t offset, size_t size) const { return {at(offset), size, memory->lkey()}; }
  RemoteAddress Remote(size_t offset) const {
    RemoteAddress remote = memory->remote();
    remote.address += offset;
    return remote;
  }
  std::vector<Completion> Poll() const {
    std::vector<Completion> completions(64);
    completions.resize(queue->Poll(absl::MakeSpan(completions)));
    return completions;
  }
};

inline absl::Status Connect(QueuePair& active, QueuePair& passive) {
  const absl::StatusOr<std::string> offer = active.Offer();
  if (!offer.ok()) return offer.status();
  const absl::StatusOr<std::string> answer = passive.Accept(*offer);
  if (!answer.ok()) return answer.status();
  return active.Complete(*answer);
}

struct Pair {
  explicit Pair(Simulation& simulation) : a(simulation, "a"), b(simulation, "b") {
    status = Connect(*a.queue_pair, *b.queue_pair);
  }
  End a;
  End b;
  absl::Status status;
};

// One request with one segment.
inline absl::Status Post(QueuePair& queue_pair, Opcode opcode, const Segment& local, RemoteAddress remote = {},
                         uint64_t id = 1, bool signaled = true) {
  SendRequest request;
  request.id = id;
  request.opcode = opcode;
  request.local = {&local, 1};
  request.remote = remote;
  request.signaled = signaled;
  return queue_pair.PostSend({&request, 1});
}

inline absl::Status PostReceive(QueuePair& queue_pair, const Segment& buffer, uint64_t id = 1) {
  const ReceiveRequest request{id, buffer};
  return queue_pair.PostReceive({&request, 1});
}

}  // namespace skein::fabric

#endif  // SKEIN_TESTS_UNIT_FABRIC_SIM_PAIR_H_
