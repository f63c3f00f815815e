#include "core/base/detached.h"

#include <pthread.h>

#include <system_error>
#include <thread>
#include <utility>

#include "core/base/signals_blocked.h"

namespace skein {

bool StartDetached(const char* name, std::function<void()> work) {
  const SignalsBlocked blocked;
  try {
    std::thread([name, work = std::move(work)] {
      pthread_setname_np(pthread_self(), name);
      work();
    }).detach();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

}  // namespace skein
