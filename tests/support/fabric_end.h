// One end of a connection as tests hold it: a device, one completion queue, some memory and a queue pair.
#ifndef SKEIN_TESTS_SUPPORT_FABRIC_END_H_
#define SKEIN_TESTS_SUPPORT_FABRIC_END_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/fabric/fabric.h"

namespace skein::fabric {

inline constexpr uint32_t kAllAccess = kRemoteWrite | kRemoteRead | kRemoteAtomic;

struct End {
  std::shared_ptr<Device> device;
  std::unique_ptr<CompletionQueue> queue;
  std::unique_ptr<MemoryRegion> memory;
  std::unique_ptr<QueuePair> queue_pair;

  explicit End(std::shared_ptr<Device> of, size_t bytes = 1 << 16)
      : device(std::move(of)),
        queue(device->CreateCompletionQueue(1024).value()),
        memory(device->Allocate(bytes, kAllAccess).value()),
        queue_pair(NewQueuePair()) {}

  std::unique_ptr<QueuePair> NewQueuePair(uint32_t max_send = 128, uint32_t max_receive = 128) const {
    QueuePairOptions options;
    options.send_queue = queue.get();
    options.receive_queue = queue.get();
    options.max_send_requests = max_send;
    options.max_receive_requests = max_receive;
    return device->CreateQueuePair(options).value();
  }

  std::byte* at(size_t offset) const { return memory->bytes().data() + offset; }
  Segment Local(size_t offset, size_t size) const { return {at(offset), size, memory->lkey()}; }
  RemoteAddress Remote(size_t offset) const {
    RemoteAddress remote = memory->remote();
    remote.address += offset;
    return remote;
  }

  void Put(size_t offset, absl::string_view text) const { std::memcpy(at(offset), text.data(), text.size()); }
  std::string Get(size_t offset, size_t size) const { return {reinterpret_cast<const char*>(at(offset)), size}; }
  void PutWord(size_t offset, uint64_t word) const { std::memcpy(at(offset), &word, sizeof(word)); }
  uint64_t GetWord(size_t offset) const {
    uint64_t word = 0;
    std::memcpy(&word, at(offset), sizeof(word));
    return word;
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

// The segments must outlive the post, not more.
inline SendRequest Request(Opcode opcode, absl::Span<const Segment> local, RemoteAddress remote = {}, uint64_t id = 1,
                           bool signaled = true) {
  SendRequest request;
  request.id = id;
  request.opcode = opcode;
  request.local = local;
  request.remote = remote;
  request.signaled = signaled;
  return request;
}

inline absl::Status Post(QueuePair& queue_pair, const SendRequest& request) {
  return queue_pair.PostSend({&request, 1});
}

// One request with one segment.
inline absl::Status Post(QueuePair& queue_pair, Opcode opcode, const Segment& local, RemoteAddress remote = {},
                         uint64_t id = 1, bool signaled = true) {
  return Post(queue_pair, Request(opcode, {&local, 1}, remote, id, signaled));
}

inline absl::Status PostReceive(QueuePair& queue_pair, const Segment& buffer, uint64_t id = 1) {
  const ReceiveRequest request{id, buffer};
  return queue_pair.PostReceive({&request, 1});
}

inline std::vector<uint64_t> Ids(const std::vector<Completion>& completions) {
  std::vector<uint64_t> ids;
  for (const Completion& completion : completions) ids.push_back(completion.id);
  return ids;
}

inline std::vector<CompletionStatus> Statuses(const std::vector<Completion>& completions) {
  std::vector<CompletionStatus> statuses;
  for (const Completion& completion : completions) statuses.push_back(completion.status);
  return statuses;
}

// GoogleTest finds these by name.
inline void PrintTo(CompletionStatus status, std::ostream* out) { *out << CompletionStatusName(status); }
inline void PrintTo(Opcode opcode, std::ostream* out) { *out << OpcodeName(opcode); }
inline void PrintTo(QueuePairState state, std::ostream* out) {
  constexpr const char* kNames[] = {"kReset", "kReady", "kError"};
  *out << kNames[static_cast<size_t>(state)];
}

}  // namespace skein::fabric

#endif  // SKEIN_TESTS_SUPPORT_FABRIC_END_H_
