// To be another user for a moment: of a test that runs as root.
#ifndef SKEIN_TESTS_UNIT_CHANNEL_SHM_ANOTHER_USER_H_
#define SKEIN_TESTS_UNIT_CHANNEL_SHM_ANOTHER_USER_H_

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>
#include <utility>

namespace skein {

inline constexpr uid_t kNobody = 65534;

// In a thread of its own: to the kernel a user is a thread's, only libc's setuid changes all. Sockets that `what` opens
// stay that user's.
template <typename Function>
void AsAnotherUser(Function what) {
  std::thread([what = std::move(what)] {
    if (syscall(SYS_setresuid, kNobody, kNobody, kNobody) == 0) what();
  }).join();
  prctl(PR_SET_DUMPABLE, 1);  // of the whole process, which the change has taken down
}

}  // namespace skein

#endif  // SKEIN_TESTS_UNIT_CHANNEL_SHM_ANOTHER_USER_H_
