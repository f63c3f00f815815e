// Pages of a shared mapping that exist once somebody has reserved them. A process that writes to an unreserved page is
// killed (SIGBUS) when memory is short; ReservePages fails instead.
#ifndef SKEIN_CORE_CHANNEL_SHM_PAGES_H_
#define SKEIN_CORE_CHANNEL_SHM_PAGES_H_

#include <cstddef>

#include "absl/types/span.h"

namespace skein::channel::shm {

// Whether this process's kernel reserves pages of a mapping (MADV_POPULATE_WRITE, Linux 5.14). Found out once.
bool CanReservePages();

// Bounds are multiples of a page. False: the kernel refuses; some of them may be reserved.
bool ReservePages(absl::Span<std::byte> pages);
// Their contents are gone, for both processes, and the memory is the kernel's.
void GiveBackPages(absl::Span<std::byte> pages);

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_PAGES_H_
