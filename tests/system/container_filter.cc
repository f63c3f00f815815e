// container_filter PROGRAM [ARGUMENT ...]: the program under a seccomp filter as container engines have it by default.
// It refuses (EPERM) what the default profiles of Docker and containerd refuse to a container without capabilities.
// (Docker's profiles/seccomp/default.json; Kubernetes calls such a profile RuntimeDefault.) Those list what is allowed;
// this lists the rest, for a new system call is none of a container's concern here.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace {

constexpr unsigned int kRefused[] = {
    SYS_acct,
    SYS_add_key,
    SYS_bpf,
    SYS_chroot,
    SYS_clock_settime,
    SYS_delete_module,
    SYS_fanotify_init,
    SYS_finit_module,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fsopen,
    SYS_fspick,
    SYS_get_mempolicy,
    SYS_init_module,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_kcmp,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_mbind,
    SYS_migrate_pages,
    SYS_mount,
    SYS_mount_setattr,
    SYS_move_mount,
    SYS_move_pages,
    SYS_open_by_handle_at,
    SYS_open_tree,
    SYS_perf_event_open,
    SYS_pidfd_getfd,
    SYS_pivot_root,
    SYS_process_madvise,
    SYS_quotactl,
    SYS_reboot,
    SYS_request_key,
    SYS_set_mempolicy,
    SYS_setdomainname,
    SYS_sethostname,
    SYS_setns,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_syslog,
    SYS_umount2,
    SYS_unshare,
    SYS_userfaultfd,
    SYS_vhangup,
#ifdef SYS_ioperm
    SYS_ioperm,
    SYS_iopl,
#endif
};
constexpr unsigned int kNewNamespaces =
    CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWUTS;

using Filter = std::vector<sock_filter>;

void LoadNumber(Filter& filter) { filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))); }

void LoadFirstArgument(Filter& filter) {
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)));
}

// If what is loaded compares as `kind` says, the call ends with `error`.
void RefuseIf(Filter& filter, unsigned short kind, unsigned int value, unsigned int error) {
  filter.push_back(BPF_JUMP(static_cast<unsigned short>(BPF_JMP | BPF_K | kind), value, 0, 1));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
}

// The same for one argument of one call alone.
void RefuseArgumentIf(Filter& filter, unsigned int call, unsigned short kind, unsigned int value) {
  LoadNumber(filter);
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3));
  LoadFirstArgument(filter);
  RefuseIf(filter, kind, value, EPERM);
}

Filter MakeFilter() {
  Filter filter;
  LoadNumber(filter);
  for (unsigned int call : kRefused) RefuseIf(filter, BPF_JEQ, call, EPERM);
  RefuseIf(filter, BPF_JEQ, SYS_clone3, ENOSYS);  // no filter sees its flags: the C library takes clone() then
  RefuseArgumentIf(filter, SYS_clone, BPF_JSET, kNewNamespaces);
  RefuseArgumentIf(filter, SYS_socket, BPF_JEQ, AF_VSOCK);
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return filter;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return 2;
  Filter filter = MakeFilter();
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::perror("seccomp");
    return 2;
  }
  execvp(words[1], words + 1);
  std::perror(words[1]);
  return 2;
}
