#include "core/channel/shm/wakeup_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/descriptors_left.h"
#include "core/base/empty_pipe.h"
#include "core/base/errno_status.h"

namespace skein::channel::shm {
namespace {

constexpr int kSpareDescriptors = 256;

std::string PathOf(int fd) { return absl::StrCat("/proc/self/fd/", fd); }

absl::StatusOr<UniqueFd> OpenAnew(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "open a pipe anew");
  return fd;
}

}  // namespace

bool MayHaveWakeupPipes() { return DescriptorsLeft(kSpareDescriptors); }

absl::StatusOr<UniqueFd> CreateWakeupPipe() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus(errno, "create a pipe");
  const UniqueFd read(ends[0]);
  const UniqueFd write(ends[1]);
  // The least, one page: a user may have so many before each new one has no more than that anyway.
  fcntl(read.get(), F_SETPIPE_SZ, 1);
  absl::StatusOr<UniqueFd> pipe = OpenAnew(PathOf(read.get()));
  // The kernel keeps the page of a pipe that was written to and read: to ring takes no memory later, which may be
  // short.
  if (pipe.ok() && WriteWakeup(pipe->get())) EmptyPipe(pipe->get());
  return pipe;
}

absl::StatusOr<UniqueFd> OpenWakeupPipe(int pipe) {
  const std::string path = PathOf(pipe);
  std::array<char, 8> target = {};
  // By its name: to ask about a file is to ask its file system, which may be another process, and keep us waiting.
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  if (length < 0) return ErrnoStatus(errno, "look at a descriptor from the peer");
  if (!absl::StartsWith(absl::string_view(target.data(), static_cast<size_t>(length)), "pipe:[")) {
    return absl::InvalidArgumentError("the peer's wakeup pipe is not a pipe");
  }
  return OpenAnew(path);
}

bool WriteWakeup(int wakeup_pipe) {
  const char ring = 1;
  ssize_t written = 0;
  do {
    written = write(wakeup_pipe, &ring, sizeof(ring));
  } while (written < 0 && errno == EINTR);
  return written > 0 || errno == EAGAIN;
}

}  // namespace skein::channel::shm
