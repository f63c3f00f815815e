// A file on an ordinary disk: pwrite, and fdatasync.
#ifndef SKEIN_CORE_DURABLE_STORAGE_FILE_STORAGE_H_
#define SKEIN_CORE_DURABLE_STORAGE_FILE_STORAGE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "core/durable/storage/log_file.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

class FileStorage final : public Storage {
 public:
  // Errors: OpenLogFile's.
  static absl::StatusOr<std::unique_ptr<FileStorage>> Open(const std::string& path, uint64_t size);

  uint64_t size() const override { return file_.size; }
  Persistence persistence() const override { return file_.level; }
  bool fine_grained() const override { return false; }

  using Storage::Persist;
  using Storage::Write;
  absl::Status Write(uint64_t offset, absl::Span<const absl::string_view> pieces) override;
  absl::Status WriteWord(uint64_t offset, uint64_t value) override;
  absl::Status Persist(absl::Span<const Extent> extents) override;
  absl::Status Read(uint64_t offset, absl::Span<char> into) const override;

 private:
  FileStorage(std::string path, LogFile file) : path_(std::move(path)), file_(std::move(file)) {}

  const std::string path_;
  const LogFile file_;
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_STORAGE_FILE_STORAGE_H_
