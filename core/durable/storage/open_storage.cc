#include "core/durable/storage/open_storage.h"

#include <utility>

#include "core/durable/storage/file_storage.h"
#include "core/durable/storage/pmem_storage.h"

namespace skein::durable {

absl::StatusOr<std::unique_ptr<Storage>> OpenStorage(const std::string& path, uint64_t size) {
  if (LoadLibpmem().ok()) {
    absl::StatusOr<std::unique_ptr<PmemStorage>> pmem = PmemStorage::Open(path, size);
    if (!pmem.ok()) return pmem.status();
    if ((*pmem)->fine_grained()) return *std::move(pmem);
  }
  return FileStorage::Open(path, size);
}

}  // namespace skein::durable
