// refuse CALL ERROR PROGRAM [ARGUMENT ...]: the program, to which the kernel refuses a system call, as a sandbox has
// it. CALL and ERROR by number; CALL may be NUMBER:ARGUMENT=VALUE for calls with that argument (from 0) alone.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/refused_call.h"

int main(int count, char** words) {
  if (count < 4) return 2;
  skein::RefusedCall call{std::atoi(words[1])};
  if (const char* const colon = std::strchr(words[1], ':')) {
    if (std::sscanf(colon, ":%d=%u", &call.argument, &call.is) != 2) return 2;
  }
  if (!skein::Refuse(call, std::atoi(words[2]))) {
    std::perror("seccomp");
    return 2;
  }
  execvp(words[3], words + 3);
  std::perror(words[3]);
  return 2;
}
