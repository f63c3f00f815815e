#include "core/base/empty_pipe.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace skein {
namespace {

constexpr size_t kBytesAtOnce = 256;
constexpr int kMaxReads = 256;  // of 64 KiB: a peer that never stops writing must not hold the caller

}  // namespace

bool EmptyPipe(int fd) {
  std::array<char, kBytesAtOnce> bytes;
  bool any = false;
  for (int i = 0; i < kMaxReads; ++i) {
    ssize_t count = 0;
    do {
      count = read(fd, bytes.data(), bytes.size());
    } while (count < 0 && errno == EINTR);
    any |= count > 0;
    if (count < static_cast<ssize_t>(bytes.size())) break;
  }
  return any;
}

}  // namespace skein
