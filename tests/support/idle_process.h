// A process that does nothing, and to which nobody else gives a name: tests that run at once have one parent.
#ifndef SKEIN_TESTS_SUPPORT_IDLE_PROCESS_H_
#define SKEIN_TESTS_SUPPORT_IDLE_PROCESS_H_

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace skein {

// Until it is ended.
class IdleProcess {
 public:
  IdleProcess() : pid_(fork()) {
    if (pid_ == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);  // whatever becomes of the test
    while (pid_ == 0) pause();
  }
  IdleProcess(const IdleProcess&) = delete;
  IdleProcess& operator=(const IdleProcess&) = delete;
  ~IdleProcess() { End(); }

  pid_t pid() const { return pid_; }
  void End() {
    if (ended_ || pid_ < 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    ended_ = true;
  }

 private:
  const pid_t pid_;
  bool ended_ = false;
};

}  // namespace skein

#endif  // SKEIN_TESTS_SUPPORT_IDLE_PROCESS_H_
