// For the start of threads of ours, which inherit it: signals from elsewhere are for the program's own. And for calls
// that a signal would undo.
#ifndef SKEIN_CORE_BASE_SIGNALS_BLOCKED_H_
#define SKEIN_CORE_BASE_SIGNALS_BLOCKED_H_

#include <pthread.h>

#include <csignal>

namespace skein {

// Of this thread, as long as it lives.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    // What a thread does itself kills the process while it is blocked, past the program's handler.
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace skein

#endif  // SKEIN_CORE_BASE_SIGNALS_BLOCKED_H_
