#include "core/channel/shm/meeting_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <skein/options.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/abstract_socket.h"
#include "core/base/closer.h"
#include "core/base/errno_status.h"
#include "core/channel/shm/offer.h"

namespace skein::channel::shm {
namespace {

constexpr time_t kYoung = 60;           // seconds
constexpr int kMostLookedAt = 4096;     // others may have left any number of files there
constexpr mode_t kForEverybody = 0666;  // to connect is to write

absl::StatusOr<UniqueFd> OpenDirectory(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return absl::UnavailableError(ErrnoStatus(errno, absl::StrCat("open ", path)).message());
  return fd;
}

}  // namespace

MeetingFile::~MeetingFile() {
  if (getpid() != process_) return;  // the parent listens on
  unlink(path_.c_str());
  Closer::Get().CloseSocket(std::move(listening_));
}

std::string MeetingDirectory::PathOf(absl::string_view name) const { return absl::StrCat(path_, "/", name); }

absl::Status MeetingDirectory::Check() const {
  const absl::StatusOr<UniqueFd> directory = OpenDirectory(path_);
  if (!directory.ok()) return directory.status();
  struct stat about = {};
  if (fstat(directory->get(), &about) != 0) return ErrnoStatus(errno, absl::StrCat("look at ", path_));
  if (about.st_uid != 0 && !PeerUsers().Check(about.st_uid).ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_, " is of user ", about.st_uid, ", and must be root's or the process's own user's (chown)"));
  }
  if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (about.st_mode & S_ISVTX) == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_, " is others' to write, without the sticky bit (chmod +t)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<MeetingFile>> MeetingDirectory::Listen(absl::string_view name) const {
  if (absl::Status checked = Check(); !checked.ok()) return checked;
  const std::string path = PathOf(name);
  absl::StatusOr<UniqueFd> listening = ListenAtPath(path);
  if (!listening.ok()) return listening.status();
  auto file = std::make_unique<MeetingFile>(*std::move(listening), path);
  // What the umask has taken away. Nobody but this user can have put something else there: see Check.
  if (chmod(path.c_str(), kForEverybody) != 0) return ErrnoStatus(errno, absl::StrCat("let others connect to ", path));
  return file;
}

absl::StatusOr<UniqueFd> MeetingDirectory::Connect(absl::string_view name) const {
  if (absl::Status checked = Check(); !checked.ok()) return checked;
  return ConnectToPath(PathOf(name));
}

void MeetingDirectory::RemoveStale() const {
  if (!Check().ok()) return;
  DIR* const directory = opendir(path_.c_str());
  if (directory == nullptr) return;
  const int fd = dirfd(directory);
  for (int i = 0; i < kMostLookedAt; ++i) {
    const dirent* const entry = readdir(directory);
    if (entry == nullptr) break;
    const absl::string_view name = entry->d_name;
    struct stat about = {};
    if (!IsSocketName(name) || fstatat(fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISSOCK(about.st_mode) || about.st_uid != geteuid() || about.st_mtime > time(nullptr) - kYoung) continue;
    if (absl::IsNotFound(ConnectToPath(PathOf(name)).status())) unlinkat(fd, entry->d_name, 0);
  }
  closedir(directory);
}

}  // namespace skein::channel::shm
