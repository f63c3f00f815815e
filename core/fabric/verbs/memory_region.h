// Memory the device may reach.
#ifndef SKEIN_CORE_FABRIC_VERBS_MEMORY_REGION_H_
#define SKEIN_CORE_FABRIC_VERBS_MEMORY_REGION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/fabric/fabric.h"
#include "core/fabric/verbs/context.h"

namespace skein::fabric::verbs {

// Errors name the limit met: the kernel locks what it registers (RLIMIT_MEMLOCK), devices have a number of regions.
absl::StatusOr<std::unique_ptr<MemoryRegion>> AllocateRegion(std::shared_ptr<Context> context, size_t bytes,
                                                             uint32_t access);
absl::StatusOr<std::unique_ptr<MemoryRegion>> RegisterRegion(std::shared_ptr<Context> context,
                                                             absl::Span<std::byte> bytes, uint32_t access);

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_MEMORY_REGION_H_
