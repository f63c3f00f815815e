#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/skein/doctor/checks.h"
#include "tools/skein/doctor/text_file.h"

namespace skein::doctor {
namespace {

// Of the namespaces that the kernel starts with (include/linux/proc_ns.h): others were made for somebody.
constexpr uint64_t kFirstPidNamespace = 0xEFFFFFFC;
constexpr uint64_t kFirstUserNamespace = 0xEFFFFFFD;

uint64_t NamespaceNumber(const char* path) {
  struct stat info = {};
  return stat(path, &info) == 0 ? info.st_ino : 0;
}

std::vector<std::string> SignsOfAContainer() {
  std::vector<std::string> signs;
  for (const char* file : {"/.dockerenv", "/run/.containerenv"}) {
    if (access(file, F_OK) == 0) signs.emplace_back(file);
  }
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) signs.emplace_back("KUBERNETES_SERVICE_HOST");
  const std::string cgroups = ReadText("/proc/self/cgroup");
  for (const char* name : {"docker", "kubepods", "containerd", "libpod", "lxc"}) {
    if (absl::StrContains(cgroups, name)) signs.push_back(absl::StrCat("a cgroup of ", name));
  }
  const uint64_t pids = NamespaceNumber("/proc/self/ns/pid");
  if (pids != 0 && pids != kFirstPidNamespace) signs.emplace_back("a pid namespace of its own");
  const uint64_t users = NamespaceNumber("/proc/self/ns/user");
  if (users != 0 && users != kFirstUserNamespace) signs.emplace_back("a user namespace of its own");
  return signs;
}

}  // namespace

void CheckContainer(Report& report) {
  const std::vector<std::string> signs = SignsOfAContainer();
  if (signs.empty()) {
    report.Ok("this does not look like a container");
  } else {
    report.Ok(absl::StrCat("this looks like a container: ", absl::StrJoin(signs, ", ")),
              "for shared memory, both ends in the same --network (as in a pod; else skein.rendezvous), and of one "
              "user (else skein.peer_users); for RDMA, --device /dev/infiniband and the port's network device");
  }
  const uint64_t network = NamespaceNumber("/proc/self/ns/net");
  report.Ok(absl::StrCat("user ", geteuid(), ", network namespace ",
                         network == 0 ? "not told by /proc" : absl::StrCat(network)),
            "shared memory reaches processes for which doctor says the same two; in a user namespace, what the user is "
            "outside of it counts");
}

}  // namespace skein::doctor
