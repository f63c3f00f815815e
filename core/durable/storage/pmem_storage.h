// Persistent memory, or a file mapped as if it were.
#ifndef SKEIN_CORE_DURABLE_STORAGE_PMEM_STORAGE_H_
#define SKEIN_CORE_DURABLE_STORAGE_PMEM_STORAGE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "core/durable/storage/log_file.h"
#include "core/durable/storage/pmem_library.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

// On a DAX device (OpenDaxDevice) or a DAX file system, stores and cache line flushes go to the medium itself, and the
// level is persistent. Elsewhere the same file is mapped and msync()ed, with the level that its file system gives: on a
// tmpfs, emulated.
//
// Whether memory that claims to be persistent is (a host may be told to take ordinary memory for it, as with memmap=),
// nobody can tell from inside. If PMEM_IS_PMEM_FORCE tells libpmem what to believe, the level is emulated.
class PmemStorage final : public Storage {
 public:
  // Errors: OpenLogFile's or OpenDaxDevice's, and UNAVAILABLE without libpmem.
  static absl::StatusOr<std::unique_ptr<PmemStorage>> Open(const std::string& path, uint64_t size);
  ~PmemStorage() override;

  uint64_t size() const override { return file_.size; }
  Persistence persistence() const override { return level_; }
  bool fine_grained() const override { return is_pmem_; }
  absl::Span<std::byte> mapped() override { return {memory_, file_.size}; }

  using Storage::Persist;
  using Storage::Write;
  absl::Status Write(uint64_t offset, absl::Span<const absl::string_view> pieces) override;
  absl::Status WriteWord(uint64_t offset, uint64_t value) override;
  absl::Status Persist(absl::Span<const Extent> extents) override;
  absl::Status Read(uint64_t offset, absl::Span<char> into) const override;

 private:
  PmemStorage(std::string path, LogFile file, const Libpmem& pmem, absl::Span<std::byte> mapping, bool is_pmem);

  const std::string path_;
  const LogFile file_;
  const Libpmem& pmem_;
  const absl::Span<std::byte> mapping_;  // of a device, more than the size
  std::byte* const memory_;
  const bool is_pmem_;
  const Persistence level_;
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_STORAGE_PMEM_STORAGE_H_
