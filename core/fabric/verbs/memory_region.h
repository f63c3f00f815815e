// Memory the device may reach.
#ifndef SKEIN_CORE_FABRIC_VERBS_MEMORY_REGION_H_
#define SKEIN_CORE_FABRIC_VERBS_MEMORY_REGION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/fabric/fabric.h"
#include "core/fabric/verbs/memory_budget.h"
#include "core/fabric/verbs/port.h"

namespace skein::fabric::verbs {

// At most `max_registered_bytes` (VerbsOptions) in this process. Errors name the limit met: that one, what the kernel
// lets this process lock (RLIMIT_MEMLOCK), the device's regions.
absl::StatusOr<std::unique_ptr<MemoryRegion>> AllocateRegion(std::shared_ptr<const Port> port, size_t bytes,
                                                             uint32_t access);
absl::StatusOr<std::unique_ptr<MemoryRegion>> RegisterRegion(std::shared_ptr<const Port> port,
                                                             absl::Span<std::byte> bytes, uint32_t access);

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_MEMORY_REGION_H_
