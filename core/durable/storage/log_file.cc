#include "core/durable/storage/log_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"

namespace skein::durable {
namespace {

// File systems on disks, which hand fdatasync down to them. Of all others (memory, overlays of who knows what, user
// space) nothing is claimed.
constexpr uint32_t kZfs = 0x2fc12fc1;
constexpr uint32_t kBcachefs = 0xca451a4e;
constexpr std::array<uint32_t, 6> kOnDisk = {
    EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, kZfs, kBcachefs};

Persistence LevelOf(int fd) {
  struct statfs what = {};
  if (fstatfs(fd, &what) != 0) return Persistence::kEmulated;
  const bool known = std::find(kOnDisk.begin(), kOnDisk.end(), static_cast<uint32_t>(what.f_type)) != kOnDisk.end();
  return known ? Persistence::kPersistent : Persistence::kEmulated;
}

constexpr std::array<char, 65536> kZeros = {};

bool AllZeros(int fd, uint64_t size) {
  std::array<char, kZeros.size()> part;
  for (uint64_t done = 0; done < size;) {
    const ssize_t got = pread(fd, part.data(), std::min<uint64_t>(part.size(), size - done), static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || std::memcmp(part.data(), kZeros.data(), static_cast<size_t>(got)) != 0) return false;
    done += static_cast<uint64_t>(got);
  }
  return true;
}

// errno, or 0.
int FillWithZeros(int fd, uint64_t size) {
  for (uint64_t done = 0; done < size;) {
    const ssize_t wrote =
        pwrite(fd, kZeros.data(), std::min<uint64_t>(kZeros.size(), size - done), static_cast<off_t>(done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    done += static_cast<uint64_t>(wrote);
  }
  return 0;
}

// Asked first, or a log that does not fit would take the last block from everybody else before it is given up.
bool HasRoom(int fd, uint64_t size) {
  struct statfs what = {};
  return fstatfs(fd, &what) != 0 || what.f_blocks == 0 || size / static_cast<uint64_t>(what.f_bsize) <= what.f_bavail;
}

// errno, or 0.
int TakeBlocks(int fd, uint64_t size) {
  if (!HasRoom(fd, size)) return ENOSPC;
  int error = 0;
  do {
    error = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size)) == 0 ? 0 : errno;
  } while (error == EINTR);
  return error == EOPNOTSUPP ? FillWithZeros(fd, size) : error;
}

// The blocks first and the length last: a file whose making was cut short has length 0, or is whole. Where blocks are
// had by writing only, it may also have some of its zeros.
absl::Status Allocate(const std::string& path, int fd, uint64_t size) {
  int error = TakeBlocks(fd, size);
  if (error == 0 && (ftruncate(fd, static_cast<off_t>(size)) != 0 || fsync(fd) != 0)) error = errno;
  if (error == 0) return absl::OkStatus();
  if (error == ENOSPC || error == EDQUOT) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no space for ", size, " bytes of redo log in ", path, "; free some, or make the log smaller"));
  }
  return ErrnoStatus(error, absl::StrCat("allocate ", size, " bytes for ", path));
}

// Another process that could not make it may have removed it: what is written to a file without a name is lost.
bool IsAt(const std::string& path, const struct stat& what) {
  struct stat there = {};
  return lstat(path.c_str(), &there) == 0 && there.st_dev == what.st_dev && there.st_ino == what.st_ino;
}

// The magics of logs and of flush rings begin with "SK"; a file whose making was cut short, with zeros or with nothing.
bool MayBeLog(int fd) {
  std::array<char, 2> begin = {};
  const ssize_t got = pread(fd, begin.data(), begin.size(), 0);
  return got >= 0 && (begin == std::array<char, 2>{} || begin == std::array{'S', 'K'});
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

absl::Status CheckFolder(const std::string& path) {
  const std::string folder = FolderOf(path);
  if (access(folder.c_str(), R_OK | W_OK | X_OK) == 0) return absl::OkStatus();
  const absl::Status why = ErrnoStatus(errno, absl::StrCat("make a redo log in ", folder));
  return absl::Status(why.code(), absl::StrCat(why.message(), "; name a file in a folder that this user may change"));
}

absl::Status PersistName(const std::string& path) {
  const std::string folder = FolderOf(path);
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || fsync(fd.get()) != 0) return ErrnoStatus(errno, absl::StrCat("fsync ", folder));
  return absl::OkStatus();
}

absl::Status CheckOwner(const std::string& path, const struct stat& what) {
  if (what.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, " belongs to user ", what.st_uid, "; a redo log must be the own user's"));
  }
  if ((what.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("other users may use ", path, ", which holds requests; chmod 600 ", path));
  }
  return absl::OkStatus();
}

absl::Status LockLog(const std::string& path, int fd) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
  if (errno != EWOULDBLOCK) return ErrnoStatus(errno, absl::StrCat("lock ", path));
  return absl::FailedPreconditionError(absl::StrCat(path,
                                                    " is in use, by another process or another log of this one; stop "
                                                    "the server or replica that has it, or name another file"));
}

absl::StatusOr<LogFile> OpenLogFile(const std::string& path, uint64_t size) {
  LogFile file;
  // Not through a link: who can make links in that folder must not choose which file is written.
  file.fd = UniqueFd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.fd.valid() && errno == ELOOP) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is a symbolic link; name the file itself"));
  }
  if (!file.fd.valid()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  struct stat what = {};
  if (fstat(file.fd.get(), &what) != 0) return ErrnoStatus(errno, absl::StrCat("stat ", path));
  if (!S_ISREG(what.st_mode)) return absl::FailedPreconditionError(absl::StrCat(path, " is not a regular file"));
  // Or the user would be told to change the rights of whatever that file is.
  if ((what.st_mode & 077) != 0 && !MayBeLog(file.fd.get())) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is no redo log, and was left as it is; name another file"));
  }
  if (absl::Status own = CheckOwner(path, what); !own.ok()) return own;
  if (absl::Status alone = LockLog(path, file.fd.get()); !alone.ok()) return alone;
  // Again: another process may have made it whole between the two.
  if (fstat(file.fd.get(), &what) != 0) return ErrnoStatus(errno, absl::StrCat("stat ", path));
  if (!IsAt(path, what)) {
    return absl::AbortedError(absl::StrCat(path, " was taken away while it was opened; open it again"));
  }
  const auto length = static_cast<uint64_t>(what.st_size);
  if (length < size && AllZeros(file.fd.get(), length)) {
    absl::Cleanup leave_nothing = [&path] { unlink(path.c_str()); };
    if (absl::Status there = Allocate(path, file.fd.get(), size); !there.ok()) return there;
    std::move(leave_nothing).Cancel();
  } else if (length != size) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " has ", length, " bytes, not ", size, "; ask for its size, or move it away for a new log"));
  }
  // Whoever has made it may have been killed before that.
  if (absl::Status safe = PersistName(path); !safe.ok()) return safe;
  file.size = size;
  file.level = LevelOf(file.fd.get());
  return file;
}

}  // namespace skein::durable
