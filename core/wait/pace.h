// How a spin is paced.
#ifndef SKEIN_CORE_WAIT_PACE_H_
#define SKEIN_CORE_WAIT_PACE_H_

#include <chrono>

namespace skein::wait {

// How many turns of a spin pass between two looks at the clock.
inline constexpr int kSeldom = 32;
// And between two looks at everything that is not a message.
inline constexpr int kThorough = 16;
// Who polls gives its processor up after that long at the earliest: a message that comes sooner is not to wait.
inline constexpr std::chrono::microseconds kYieldAfter{2};
// How often a thread that never sleeps looks at what is not the link: whether peers are still there, and who is new.
inline constexpr std::chrono::milliseconds kLook{1};
// How long a thread sleeps at most when the kernel has refused it a descriptor, or the watch on one.
inline constexpr std::chrono::milliseconds kUnwatched{10};

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_PACE_H_
