// Another program's traffic from one device to another: so many WRITEs of 1 KiB are under way at any time.
#ifndef SKEIN_BENCH_DURABLE_BACKGROUND_H_
#define SKEIN_BENCH_DURABLE_BACKGROUND_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "core/fabric/fabric.h"

namespace skein::bench::durable {

class Background {
 public:
  // Errors: the devices'.
  static absl::StatusOr<std::unique_ptr<Background>> Start(fabric::Device& from, fabric::Device& to, size_t writes);

  // After each event: another WRITE for each that has ended.
  absl::Status Turn();

 private:
  static constexpr size_t kBytes = 1024;

  absl::Status Prepare(fabric::Device& from, fabric::Device& to, size_t writes);
  absl::Status Post(size_t writes);

  std::unique_ptr<fabric::MemoryRegion> source_;
  std::unique_ptr<fabric::MemoryRegion> target_;
  std::unique_ptr<fabric::CompletionQueue> completions_;
  std::unique_ptr<fabric::CompletionQueue> peer_completions_;
  std::unique_ptr<fabric::QueuePair> queue_pair_;  // after what they use
  std::unique_ptr<fabric::QueuePair> peer_;
};

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_BACKGROUND_H_
