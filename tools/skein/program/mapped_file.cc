#include "tools/skein/program/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/unique_fd.h"

namespace skein::program {

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, " is not a file"));
  if (info.st_size == 0) return MappedFile({});
  const auto size = static_cast<size_t>(info.st_size);
  void* const bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (bytes == MAP_FAILED) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  return MappedFile({static_cast<const char*>(bytes), size});
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

}  // namespace skein::program
