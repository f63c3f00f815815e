#include "tools/skein/doctor/polled_waiter.h"

#include <poll.h>

#include "absl/time/clock.h"

namespace skein::doctor {

bool PolledWaiter::RunUntil(const std::function<bool()>& done, absl::Time deadline, int other_fd) {
  for (;;) {
    const bool worked = Poll();
    if (done()) return true;
    if (absl::Now() >= deadline) return false;
    if (!worked && Arm()) Sleep(deadline, other_fd);
  }
}

bool PolledWaiter::Poll() {
  bool worked = false;
  for (const std::shared_ptr<wait::Source>& source : sources_) worked |= source->Poll();
  const size_t finished = std::erase_if(sources_, [](const auto& source) { return source->finished(); });
  return worked || finished > 0;
}

bool PolledWaiter::Arm() const {
  bool armed = true;
  for (const std::shared_ptr<wait::Source>& source : sources_) armed &= source->Arm();
  return armed;
}

void PolledWaiter::Sleep(absl::Time deadline, int other_fd) const {
  std::vector<pollfd> descriptors = {{other_fd, POLLIN, 0}};  // poll passes over -1
  for (const std::shared_ptr<wait::Source>& source : sources_) descriptors.push_back({source->fd(), POLLIN, 0});
  const absl::Duration left = absl::Ceil(deadline - absl::Now(), absl::Milliseconds(1));
  poll(descriptors.data(), descriptors.size(), static_cast<int>(absl::ToInt64Milliseconds(left)));
}

}  // namespace skein::doctor
