#include "core/durable/storage/pmem_storage.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/durable/storage/dax_device.h"

namespace skein::durable {

absl::StatusOr<std::unique_ptr<PmemStorage>> PmemStorage::Open(const std::string& path, uint64_t size) {
  const absl::StatusOr<const Libpmem*> pmem = LoadLibpmem();
  if (!pmem.ok()) return pmem.status();
  if (IsCharacterDevice(path)) {
    absl::StatusOr<DaxDevice> device = OpenDaxDevice(path, size);
    if (!device.ok()) return device.status();
    return absl::WrapUnique(new PmemStorage(path, std::move(device->file), **pmem, device->memory, /*is_pmem=*/true));
  }
  absl::StatusOr<LogFile> file = OpenLogFile(path, size);
  if (!file.ok()) return file.status();
  // By its descriptor: the very file that was checked and locked. Not mmap(), since only libpmem knows when to ask for
  // MAP_SYNC, and takes no other mapping for pmem.
  const std::string same_file = absl::StrCat("/proc/self/fd/", file->fd.get());
  size_t mapped = 0;
  int is_pmem = 0;
  void* const memory = (*pmem)->map_file(same_file.c_str(), 0, 0, 0, &mapped, &is_pmem);
  if (memory == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot map ", path, ": ", (*pmem)->errormsg()));
  }
  auto storage = absl::WrapUnique(
      new PmemStorage(path, *std::move(file), **pmem, {static_cast<std::byte*>(memory), mapped}, is_pmem != 0));
  if (mapped != size) return absl::FailedPreconditionError(absl::StrCat(path, " changes its size while it is opened"));
  return storage;
}

PmemStorage::PmemStorage(std::string path, LogFile file, const Libpmem& pmem, absl::Span<std::byte> mapping,
                         bool is_pmem)
    : path_(std::move(path)),
      file_(std::move(file)),
      pmem_(pmem),
      mapping_(mapping),
      memory_(mapping.data()),
      is_pmem_(is_pmem),
      level_(std::getenv("PMEM_IS_PMEM_FORCE") != nullptr ? Persistence::kEmulated : file_.level) {}

PmemStorage::~PmemStorage() { pmem_.unmap(mapping_.data(), mapping_.size()); }

absl::Status PmemStorage::Write(uint64_t offset, absl::Span<const absl::string_view> pieces) {
  if (absl::Status inside = CheckRange(offset, TotalBytes(pieces)); !inside.ok()) return inside;
  std::byte* to = memory_ + offset;
  for (const absl::string_view piece : pieces) {
    if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  }
  return absl::OkStatus();
}

absl::Status PmemStorage::WriteWord(uint64_t offset, uint64_t value) {
  if (absl::Status inside = CheckWord(offset); !inside.ok()) return inside;
  // Pairs with nothing here: atomic so that the medium, and a device that reads it, see the whole word.
  std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(memory_ + offset)).store(value, std::memory_order_release);
  return absl::OkStatus();
}

absl::Status PmemStorage::Persist(absl::Span<const Extent> extents) {
  if (absl::Status inside = CheckRanges(extents); !inside.ok()) return inside;
  for (const Extent& extent : extents) {
    if (is_pmem_) {
      pmem_.flush(memory_ + extent.offset, extent.length);
    } else if (pmem_.msync(memory_ + extent.offset, extent.length) != 0) {
      return ErrnoStatus(errno, absl::StrCat("msync ", path_));
    }
  }
  if (is_pmem_) pmem_.drain();
  return absl::OkStatus();
}

absl::Status PmemStorage::Read(uint64_t offset, absl::Span<char> into) const {
  if (absl::Status inside = CheckRange(offset, into.size()); !inside.ok()) return inside;
  if (!into.empty()) std::memcpy(into.data(), memory_ + offset, into.size());
  return absl::OkStatus();
}

}  // namespace skein::durable
