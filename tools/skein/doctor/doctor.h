// skein doctor: what this machine can do for Skein, and which path leads to a server.
#ifndef SKEIN_TOOLS_SKEIN_DOCTOR_DOCTOR_H_
#define SKEIN_TOOLS_SKEIN_DOCTOR_DOCTOR_H_

#include <string>
#include <vector>

namespace skein {

// Returns the exit status.
int RunDoctor(const std::vector<std::string>& arguments);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_DOCTOR_DOCTOR_H_
