// What a program's file gives to a process that executes it. The dynamic linker preloads nothing into a process that
// has got more than its user has.
#ifndef SKEIN_TOOLS_SKEIN_PROGRAM_PRIVILEGES_H_
#define SKEIN_TOOLS_SKEIN_PROGRAM_PRIVILEGES_H_

#include <sys/types.h>

#include <string>

namespace skein::program {

// The process that executes a program.
struct Executor {
  uid_t user = 0;
  gid_t group = 0;
  bool no_new_privileges = false;  // the kernel gives nothing then

  static Executor ThisProcess();
};

struct Privileges {
  std::string what;     // "the setuid bit", "the setgid bit" or "file capabilities"; empty: none
  bool matter = false;  // this executor gets something by them
};

Privileges PrivilegesOf(const std::string& path, const Executor& executor);

}  // namespace skein::program

#endif  // SKEIN_TOOLS_SKEIN_PROGRAM_PRIVILEGES_H_
