// A device of which a test must know whether its sleeper would wake.
#ifndef SKEIN_TESTS_SUPPORT_WATCHED_DEVICE_H_
#define SKEIN_TESTS_SUPPORT_WATCHED_DEVICE_H_

#include <cstdint>
#include <memory>

#include "tests/support/forwarding_device.h"

namespace skein::fabric {

// Remembers its newest completion queue.
class WatchedDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  absl::StatusOr<std::unique_ptr<CompletionQueue>> CreateCompletionQueue(uint32_t capacity) override {
    auto queue = ForwardingDevice::CreateCompletionQueue(capacity);
    if (queue.ok()) completions = queue->get();
    return queue;
  }

  CompletionQueue* completions = nullptr;
};

}  // namespace skein::fabric

#endif  // SKEIN_TESTS_SUPPORT_WATCHED_DEVICE_H_
