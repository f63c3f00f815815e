// A file's bytes, mapped for reading.
#ifndef SKEIN_TOOLS_SKEIN_PROGRAM_MAPPED_FILE_H_
#define SKEIN_TOOLS_SKEIN_PROGRAM_MAPPED_FILE_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace skein::program {

class MappedFile {
 public:
  // The kernel's reason if it cannot be read. A folder is INVALID_ARGUMENT.
  static absl::StatusOr<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile();

  absl::string_view bytes() const { return bytes_; }

 private:
  explicit MappedFile(absl::string_view bytes) : bytes_(bytes) {}

  absl::string_view bytes_;
};

}  // namespace skein::program

#endif  // SKEIN_TOOLS_SKEIN_PROGRAM_MAPPED_FILE_H_
