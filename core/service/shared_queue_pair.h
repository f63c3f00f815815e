// What a trunk has of the device. The kernel and the device take milliseconds to make it, so a worker does.
#ifndef SKEIN_CORE_SERVICE_SHARED_QUEUE_PAIR_H_
#define SKEIN_CORE_SERVICE_SHARED_QUEUE_PAIR_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/fabric/fabric.h"

namespace skein::service {

// The worker's thread makes it, and skeind's thread has it from then on. Members end in the order that they need: the
// queue pair before the memory that it may write.
struct SharedQueuePair {
  static constexpr uint32_t kSends = 512;
  static constexpr uint32_t kReceives = 1024;

  // `offer`: the other skeind's; empty: none yet, and `says` is one for it.
  static absl::StatusOr<SharedQueuePair> Create(fabric::Device& device, absl::string_view offer);

  std::shared_ptr<fabric::Device> domain;  // the device, for this trunk alone; null: it has no such thing
  // Where requests of no bytes go: a device may want to know of them, too, that the memory is there.
  std::unique_ptr<fabric::MemoryRegion> landing;
  std::unique_ptr<fabric::CompletionQueue> completions;
  std::unique_ptr<fabric::QueuePair> queue_pair;
  std::string says;  // the queue pair's offer to the other skeind, or its answer
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_SHARED_QUEUE_PAIR_H_
