// Which of its active queue pairs a sender's threads use (FLOCK 3.4.2). A thread is whatever sends in an order of its
// own: in Skein a stream.
#ifndef SKEIN_BENCH_SIM_THREAD_SCHEDULER_H_
#define SKEIN_BENCH_SIM_THREAD_SCHEDULER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace skein::bench {

// From here on a message is large: coalescing it with others saves little, waiting behind it costs them much. The
// largest packet of RDMA.
inline constexpr uint64_t kLargeBytes = 4096;

// A thread's requests since the last scheduling, in bounded memory. The thread's own: not thread-safe.
class RequestStats {
 public:
  void Add(uint64_t bytes);
  // The lower median, rounded down to a power of two; 0 without requests.
  uint64_t MedianBytes() const;
  uint64_t requests() const { return requests_; }
  uint64_t bytes() const { return bytes_; }

 private:
  std::array<uint32_t, 34> by_width_ = {};  // requests by the width of their size in bits; the last: all larger ones
  uint64_t requests_ = 0;
  uint64_t bytes_ = 0;
};

struct ThreadLoad {
  uint16_t queue_pair = UINT16_MAX;  // where it sends now; any other number if nowhere
  uint64_t median_bytes = 0;
  uint64_t requests = 0;  // 0: there is nothing to go by
  uint64_t bytes = 0;
};

// Where a thread goes that has sent nothing yet: the index of the queue pair with the fewest of `threads`, not empty.
size_t PlaceThread(absl::Span<const size_t> threads);

// Algorithm 1. Gives each thread its queue pair, out of `active`, in the order of `threads`; where it is now if
// `active` is empty. Threads without requests stay where that is active; else they are placed as new ones.
std::vector<uint16_t> AssignThreads(absl::Span<const ThreadLoad> threads, absl::Span<const uint16_t> active);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_THREAD_SCHEDULER_H_
