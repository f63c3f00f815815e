// A file descriptor with one owner.
#ifndef SKEIN_CORE_BASE_UNIQUE_FD_H_
#define SKEIN_CORE_BASE_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace skein {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void Reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace skein

#endif  // SKEIN_CORE_BASE_UNIQUE_FD_H_
