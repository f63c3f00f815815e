#include "core/base/random_value.h"

#include <sys/random.h>

#include <cerrno>
#include <random>

namespace skein {

void FillWithRandom(void* bytes, size_t size) {
  for (size_t filled = 0; filled < size;) {
    // Less than asked for only beyond 256 bytes, and where a signal comes before the kernel has gathered any.
    const ssize_t got = getrandom(static_cast<char*>(bytes) + filled, size - filled, 0);
    if (got > 0) {
      filled += static_cast<size_t>(got);
    } else if (errno != EINTR) {  // a sandbox that refuses it
      static_cast<unsigned char*>(bytes)[filled++] = static_cast<unsigned char>(std::random_device()());
    }
  }
}

}  // namespace skein
