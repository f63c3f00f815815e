// A fabric whose time is real: its sleepers sleep on descriptors.
#ifndef SKEIN_TESTS_CONFORMANCE_DESCRIPTORS_UNDER_TEST_H_
#define SKEIN_TESTS_CONFORMANCE_DESCRIPTORS_UNDER_TEST_H_

#include <poll.h>

#include "absl/time/time.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/fabric_under_test.h"

namespace skein::fabric {

class DescriptorsUnderTest : public FabricUnderTest {
 public:
  bool ArmedAndReadable(const CompletionQueue& queue) final { return Readable(queue.fd(), absl::ZeroDuration()); }
  bool SleepUntilReadable(const CompletionQueue& queue) final { return Readable(queue.fd(), kGuard); }

 private:
  static bool Readable(int fd, absl::Duration patience) {
    pollfd entry{fd, POLLIN, 0};
    const auto timeout_ms = static_cast<int>(absl::ToInt64Milliseconds(patience));
    return poll(&entry, 1, timeout_ms) == 1 && (entry.revents & POLLIN) != 0;
  }
};

}  // namespace skein::fabric

#endif  // SKEIN_TESTS_CONFORMANCE_DESCRIPTORS_UNDER_TEST_H_
