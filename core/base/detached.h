// Starts a thread of its own for some work. Nobody joins that thread.
#ifndef SKEIN_CORE_BASE_DETACHED_H_
#define SKEIN_CORE_BASE_DETACHED_H_

#include <functional>

namespace skein {

// `name` has at most 15 characters. False: there is no thread to be had. Signals are blocked on it.
bool StartDetached(const char* name, std::function<void()> work);

}  // namespace skein

#endif  // SKEIN_CORE_BASE_DETACHED_H_
