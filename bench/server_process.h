// A benchmark's server, which the benchmark starts itself, as a process of its own.
#ifndef SKEIN_BENCH_SERVER_PROCESS_H_
#define SKEIN_BENCH_SERVER_PROCESS_H_

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace skein::bench {

// Is killed with this object, and dies with this process.
class ServerProcess {
 public:
  // Before there is a thread. In the new process: serve(fd) -> its exit status. It writes its address to `fd`, at once
  // and once, when clients can connect; it must not throw.
  template <typename Serve>
  explicit ServerProcess(Serve serve) {
    int fds[2];
    if (pipe(fds) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(fds[0]);
      _exit(serve(fds[1]));
    }
    close(fds[1]);
    address_fd_ = fds[0];
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess() {
    if (address_fd_ >= 0) close(address_fd_);
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  // Waits for what the server writes. Empty: there is none, or it has ended. Once.
  std::string Address() {
    char text[256];
    const ssize_t size = read(address_fd_, text, sizeof(text));
    return std::string(text, size > 0 ? static_cast<size_t>(size) : 0);
  }

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int address_fd_ = -1;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SERVER_PROCESS_H_
