// What the simulated fabric costs and how it behaves. It reads sources when they are sent, which is later than Post: a
// caller that reuses its memory too early sends the wrong bytes. The defaults are a mean NIC, which reorders across
// queue pairs and lands WRITEs piecemeal, so that code which passes on them relies on nothing it may not.
#ifndef SKEIN_CORE_FABRIC_SIM_SIM_CONFIG_H_
#define SKEIN_CORE_FABRIC_SIM_SIM_CONFIG_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace skein::fabric {

struct SimConfig {
  // One way, from the last byte leaving to the first effect at the peer. Each message adds up to `jitter` more.
  absl::Duration latency = absl::Microseconds(2);
  absl::Duration jitter = absl::Microseconds(1);
  uint64_t bytes_per_second = 12'500'000'000;  // of one device's wire, shared by its queue pairs

  // What the NIC spends on each doorbell (one Post call) and on each completion it writes.
  absl::Duration doorbell_cost = absl::Nanoseconds(100);
  absl::Duration completion_cost = absl::ZeroDuration();

  // What it spends on each packet, sent or received, acknowledgements included; at the same time on one of each. A
  // packet has so many bytes more on the wire.
  absl::Duration packet_cost = absl::ZeroDuration();
  uint64_t packet_bytes = 4096;
  uint64_t packet_header_bytes = 0;

  // It holds the state of so many queue pairs (0: of all) and spends so long on a message of any other.
  size_t queue_pair_cache = 0;
  absl::Duration queue_pair_miss_cost = absl::ZeroDuration();

  // The bytes of one WRITE land in up to three steps, each up to this long after the one before. Zero: all at once.
  absl::Duration write_spread = absl::Nanoseconds(500);

  // A request that its peer has not answered for so long completes with kRetryExceeded.
  absl::Duration retry_time = absl::Milliseconds(50);

  // Close() and destruction tell the peer, one flight later, as rdma_cm does when a process ends. False: the peer finds
  // out by its own requests only, as when a host loses power.
  bool announce_close = true;

  // Jitter may let a later request on one queue pair arrive before an earlier one on another.
  bool reorder_across_queue_pairs = true;

  // It offers FLUSH, and takes the memory that programs register for persistent where they say so.
  bool flush = false;

  // As in DeviceCapabilities.
  uint32_t max_inline_bytes = 64;
  uint64_t max_message_bytes = uint64_t{1} << 30;

  size_t max_allocated_bytes = size_t{1} << 32;  // per device; Allocate beyond it is RESOURCE_EXHAUSTED
};

}  // namespace skein::fabric

#endif  // SKEIN_CORE_FABRIC_SIM_SIM_CONFIG_H_
