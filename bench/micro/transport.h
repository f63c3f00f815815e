// What is measured: something that carries messages of one size between two ends.
#ifndef SKEIN_BENCH_MICRO_TRANSPORT_H_
#define SKEIN_BENCH_MICRO_TRANSPORT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace skein::bench {

// One thread. A peer that does nothing for kPatience is DEADLINE_EXCEEDED, where this end spins.
class Transport {
 public:
  virtual ~Transport() = default;
  // One message, to be taken by the peer's Receive. At most one each way may be under way.
  virtual absl::Status Send() = 0;
  virtual absl::Status Receive() = 0;
  // `count` messages one way, as many under way as there is space for. Flood returns when all are known to have
  // arrived.
  virtual absl::Status Flood(uint64_t count) = 0;
  virtual absl::Status Absorb(uint64_t count) = 0;
  // "rdma:rxe0/1", "tcp"
  virtual std::string path() const = 0;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MICRO_TRANSPORT_H_
