// How a spin is paced.
#ifndef SKEIN_CORE_PROGRESS_PACE_H_
#define SKEIN_CORE_PROGRESS_PACE_H_

#include <chrono>

namespace skein::progress {

// How many turns of a spin pass between two looks at the clock.
inline constexpr int kSeldom = 32;
// And between two looks at everything that is not a message.
inline constexpr int kThorough = 16;
// After that long, whoever is waited for may have no processor: who never sleeps offers its own, now and then. (Who
// does, does not: to yield gives way to all that can run, while a sleeper that is woken goes before them.)
inline constexpr std::chrono::microseconds kYieldAfter{10};
// How often a thread that never sleeps looks at what is not the link: whether peers are still there, and who is new.
inline constexpr std::chrono::milliseconds kLook{1};

}  // namespace skein::progress

#endif  // SKEIN_CORE_PROGRESS_PACE_H_
