// Connections by RDMA take memory of a host: so much, by the sizes that the code gives its queues. Arithmetic, no
// model.
#ifndef SKEIN_BENCH_SIM_SERVICE_MEMORY_H_
#define SKEIN_BENCH_SIM_SERVICE_MEMORY_H_

#include <bit>
#include <cstdint>

#include "core/base/options.h"
#include "core/channel/ring/ring_group.h"
#include "core/channel/ring/ring_writer.h"
#include "core/fabric/service/shared_queues.h"
#include "core/service/shared_queue_pair.h"

namespace skein::bench {

// Drivers of ConnectX NICs give a request, a receive without bytes and a completion these sizes.
inline constexpr uint64_t kSendEntry = 64;
inline constexpr uint64_t kReceiveEntry = 16;
inline constexpr uint64_t kCompletionEntry = 64;

constexpr uint64_t QueuePairBytes(uint64_t sends, uint64_t receives) {
  return std::bit_ceil(sends) * kSendEntry + std::bit_ceil(receives) * kReceiveEntry +
         std::bit_ceil(sends + receives) * kCompletionEntry;
}

// Queue pairs and completion queues of connections that have their own.
constexpr uint64_t OwnBytes(uint64_t connections) {
  return connections * QueuePairBytes(channel::kSends, channel::RingGroup::kReceives);
}

// Of connections by way of skeind: memory that they share with it, and its trunks' queue pairs.
constexpr uint64_t ServiceBytes(uint64_t applications, uint64_t connections, uint64_t trunks) {
  using fabric::service::CompletionBytes;
  using fabric::service::SubmissionBytes;
  return applications * sizeof(fabric::service::SessionPage) +
         connections *
             (SubmissionBytes(channel::kSends) + CompletionBytes(channel::kSends + channel::RingGroup::kReceives)) +
         trunks * QueuePairBytes(service::SharedQueuePair::kSends, service::SharedQueuePair::kReceives);
}

// Either way: the peer writes into one buffer, and the process writes from another.
inline uint64_t RingBytes(uint64_t connections) {
  return connections * (Options().ring_bytes + channel::StagingBytes(Options().ring_bytes));
}

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_SERVICE_MEMORY_H_
