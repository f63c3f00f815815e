// libpmem, opened at run time: a host without it keeps its logs in ordinary files.
#ifndef SKEIN_CORE_DURABLE_STORAGE_PMEM_LIBRARY_H_
#define SKEIN_CORE_DURABLE_STORAGE_PMEM_LIBRARY_H_

#include <libpmem.h>

#include "absl/status/statusor.h"

namespace skein::durable {

#define SKEIN_LIBPMEM_FUNCTIONS(F) \
  F(map_file)                      \
  F(unmap)                         \
  F(is_pmem)                       \
  F(flush)                         \
  F(drain)                         \
  F(msync)                         \
  F(errormsg)

struct Libpmem {
// NOLINTNEXTLINE(bugprone-macro-parentheses): it declares the name
#define SKEIN_DECLARE(name) decltype(&::pmem_##name) name = nullptr;
  SKEIN_LIBPMEM_FUNCTIONS(SKEIN_DECLARE)
#undef SKEIN_DECLARE
};

// Loaded once; the library stays. UNAVAILABLE: not installed; what to install is said.
absl::StatusOr<const Libpmem*> LoadLibpmem();

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_STORAGE_PMEM_LIBRARY_H_
