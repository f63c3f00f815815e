// Runs that share nothing but their order.
#ifndef SKEIN_BENCH_IN_PARALLEL_H_
#define SKEIN_BENCH_IN_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iostream>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace skein::bench {

// What `run(i)` gives, for each i below `count`, on all processors; a dot to standard error for each that is done.
template <typename Outcome, typename Run>
std::vector<absl::StatusOr<Outcome>> InParallel(size_t count, Run run) {
  std::vector<absl::StatusOr<Outcome>> outcomes(count, absl::UnknownError("not run"));
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      outcomes[i] = run(i);
      std::cerr << '.' << std::flush;
    }
  };
  std::vector<std::thread> threads;
  const unsigned cores = std::max(std::thread::hardware_concurrency(), 1u);
  for (unsigned i = 0; i < cores; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  std::cerr << '\n';
  return outcomes;
}

}  // namespace skein::bench

#endif  // SKEIN_BENCH_IN_PARALLEL_H_
