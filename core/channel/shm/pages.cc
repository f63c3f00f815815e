#include "core/channel/shm/pages.h"

#include <sys/mman.h>

#include <cerrno>

#include "core/base/mapping.h"
#include "core/channel/shm/layout.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace skein::channel::shm {
namespace {

constexpr int kMostTries = 8;  // interrupted ones

bool Try() {
  absl::StatusOr<Mapping> page = Map(-1, kPageBytes);
  return page.ok() && ReservePages(page->bytes());
}

}  // namespace

bool CanReservePages() {
  static const bool can = Try();
  return can;
}

bool ReservePages(absl::Span<std::byte> pages) {
  for (int i = 0; i < kMostTries; ++i) {
    if (madvise(pages.data(), pages.size(), MADV_POPULATE_WRITE) == 0) return true;
    if (errno != EINTR && errno != EAGAIN) return false;
  }
  return false;
}

void GiveBackPages(absl::Span<std::byte> pages) {
  // A refusal costs the memory, and nothing else.
  if (!pages.empty()) madvise(pages.data(), pages.size(), MADV_REMOVE);
}

}  // namespace skein::channel::shm
