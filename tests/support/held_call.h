// A system call that does not return until a test lets it: a kernel that is slow, at a step that the test chooses.
#ifndef SKEIN_TESTS_SUPPORT_HELD_CALL_H_
#define SKEIN_TESTS_SUPPORT_HELD_CALL_H_

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <future>

#include "core/base/unique_fd.h"

namespace skein {

// Of one thread, and one call of it. After that one the kernel refuses the thread that call (ENOSYS).
class HeldCall {
 public:
  // The thread that is to be held says so itself. From then on it stays in the call until LetGo. False: seccomp is not
  // to be had here.
  bool HoldThisThread(int call) {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned int>(call), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    listener_.set_value(static_cast<int>(fd));
    return fd >= 0;
  }
  // Another thread. Whether the call has begun; false: not within 10 s.
  bool Await() {
    told_ = UniqueFd(listener_.get_future().get());
    pollfd entry = {told_.get(), POLLIN, 0};
    return told_.valid() && poll(&entry, 1, 10'000) == 1 && ioctl(told_.get(), SECCOMP_IOCTL_NOTIF_RECV, &call_) == 0;
  }
  // The kernel goes on with the call. Once, after Await.
  void LetGo() {
    if (!told_.valid()) return;
    seccomp_notif_resp response = {};
    response.id = call_.id;
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(told_.get(), SECCOMP_IOCTL_NOTIF_SEND, &response);
    told_.Reset();
  }

 private:
  std::promise<int> listener_;
  UniqueFd told_;
  seccomp_notif call_ = {};
};

}  // namespace skein

#endif  // SKEIN_TESTS_SUPPORT_HELD_CALL_H_
