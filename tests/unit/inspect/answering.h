// A process that answers who asks it whatever the test likes.
#ifndef SKEIN_TESTS_UNIT_INSPECT_ANSWERING_H_
#define SKEIN_TESTS_UNIT_INSPECT_ANSWERING_H_

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/abstract_socket.h"
#include "core/inspect/control.h"

namespace skein::inspect {

// What a library of this version answers when all is well.
inline std::string Ok(absl::string_view text) {
  return absl::StrCat(kProtocol, " ", Version(), " ok ", text.size(), "\n", text);
}

// In pieces, until it is said or the other end is closed. Whether it was said.
inline bool Say(int fd, absl::string_view text) {
  while (!text.empty()) {
    pollfd waited = {fd, POLLOUT, 0};
    if (poll(&waited, 1, -1) < 0) return false;
    const ssize_t size = send(fd, text.data(), std::min(text.size(), size_t{32} << 10), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && errno != EAGAIN) return false;
    if (size > 0) text.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

// A library of a process, as far as who asks can tell; in this one.
class Answering {
 public:
  // With the end of a connection on which something was asked.
  using Answers = std::function<void(int fd)>;

  Answering(pid_t process, int library, Answers answers)
      : listening_(ListenAbstract(ControlName(process, library))),
        answers_(std::move(answers)),
        thread_([this] { Serve(); }) {}
  Answering(pid_t process, int library, std::string text)
      : Answering(process, library, [text = std::move(text)](int fd) { Say(fd, text); }) {}
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;
  ~Answering() {
    ended_ = true;
    thread_.join();
  }

  bool ok() const { return listening_.ok(); }

 private:
  static bool IsReady(int fd) {
    pollfd waited = {fd, POLLIN, 0};
    return poll(&waited, 1, 10) > 0;
  }

  void Serve() {
    while (ok() && !ended_) {
      if (!IsReady(listening_->get())) continue;
      const UniqueFd asking = AcceptQueued(listening_->get());
      while (!IsReady(asking.get()) && !ended_) {
      }
      char question[kMaxQuestionBytes];
      if (recv(asking.get(), question, sizeof(question), MSG_DONTWAIT) > 0) answers_(asking.get());
    }
  }

  const absl::StatusOr<UniqueFd> listening_;
  const Answers answers_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace skein::inspect

#endif  // SKEIN_TESTS_UNIT_INSPECT_ANSWERING_H_
