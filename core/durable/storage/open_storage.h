// The best storage that a path allows.
#ifndef SKEIN_CORE_DURABLE_STORAGE_OPEN_STORAGE_H_
#define SKEIN_CORE_DURABLE_STORAGE_OPEN_STORAGE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

// PmemStorage where the file lies in persistent memory and libpmem is installed, else FileStorage. Made if there is
// none. Errors: OpenLogFile's.
absl::StatusOr<std::unique_ptr<Storage>> OpenStorage(const std::string& path, uint64_t size);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_STORAGE_OPEN_STORAGE_H_
