// A system call that the kernel refuses, as a sandbox has it.
#ifndef SKEIN_TESTS_SUPPORT_REFUSED_CALL_H_
#define SKEIN_TESTS_SUPPORT_REFUSED_CALL_H_

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>

namespace skein {

struct RefusedCall {
  int number = -1;      // SYS_fstatfs
  int argument = -1;    // refused only if this argument, counted from 0 ...
  unsigned int is = 0;  // ... has this value in its lower half; -1: whatever its arguments are
};

// From now on, and for good, the calling thread and those it makes, and their child processes, get `error` for the
// call. False: seccomp is not to be had here.
inline bool Refuse(const RefusedCall& call, int error) {
  const auto argument =
      static_cast<unsigned int>(offsetof(seccomp_data, args) + 8 * (call.argument < 0 ? 0 : call.argument));
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned int>(call.number), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call.is, 0, static_cast<unsigned char>(call.argument < 0 ? 0 : 1)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned int>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace skein

#endif  // SKEIN_TESTS_SUPPORT_REFUSED_CALL_H_
