#include "core/durable/storage/dax_device.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"

namespace skein::durable {
namespace {

// The kernel's folder about it.
std::filesystem::path FolderOf(const struct stat& what) {
  return absl::StrCat("/sys/dev/char/", major(what.st_rdev), ":", minor(what.st_rdev));
}

bool IsDax(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::canonical(folder / "subsystem", error).filename() == "dax";
}

// 0: it says none.
uint64_t NumberIn(const std::filesystem::path& file) {
  uint64_t number = 0;
  std::ifstream(file) >> number;
  return number;
}

}  // namespace

bool IsCharacterDevice(const std::string& path) {
  struct stat what = {};
  return lstat(path.c_str(), &what) == 0 && S_ISCHR(what.st_mode);
}

absl::StatusOr<DaxDevice> OpenDaxDevice(const std::string& path, uint64_t size) {
  DaxDevice device;
  device.file.fd = UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct stat what = {};
  if (!device.file.fd.valid() || fstat(device.file.fd.get(), &what) != 0) {
    return ErrnoStatus(errno, absl::StrCat("open ", path));
  }
  const std::filesystem::path folder = FolderOf(what);
  if (!S_ISCHR(what.st_mode) || !IsDax(folder)) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is neither a file nor a DAX device"));
  }
  if (absl::Status own = CheckOwner(path, what); !own.ok()) return own;
  if (absl::Status alone = LockLog(path, device.file.fd.get()); !alone.ok()) return alone;
  const uint64_t has = NumberIn(folder / "size");
  const uint64_t page = NumberIn(folder / "align");
  if (size == 0 || size > has || page == 0) {
    return absl::FailedPreconditionError(absl::StrCat(path, " has ", has, " bytes, not ", size));
  }
  // Its stores are on the medium when the caches are flushed: there are no file system's notes to be kept in step.
  const uint64_t length = (size + page - 1) / page * page;
  void* const memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, device.file.fd.get(), 0);
  if (memory == MAP_FAILED) return ErrnoStatus(errno, absl::StrCat("map ", path));
  device.memory = {static_cast<std::byte*>(memory), length};
  device.file.size = size;
  device.file.level = Persistence::kPersistent;
  return device;
}

}  // namespace skein::durable
