#include "tools/skein/program/privileges.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace skein::program {
namespace {

// include/uapi/linux/capability.h has the layout; zero bytes read alike in each byte order.
bool HasCapabilities(const std::string& path) {
  vfs_ns_cap_data data = {};
  if (getxattr(path.c_str(), "security.capability", &data, sizeof(data)) < static_cast<ssize_t>(XATTR_CAPS_SZ_1)) {
    return false;
  }
  return data.data[0].permitted != 0 || data.data[1].permitted != 0;
}

bool GivesNothing(const std::string& path, const Executor& executor) {
  struct statvfs mounted = {};
  return executor.no_new_privileges || (statvfs(path.c_str(), &mounted) == 0 && (mounted.f_flag & ST_NOSUID) != 0);
}

}  // namespace

Executor Executor::ThisProcess() { return {getuid(), getgid(), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1}; }

Privileges PrivilegesOf(const std::string& path, const Executor& executor) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0 || GivesNothing(path, executor)) return {};
  constexpr mode_t kSetGroup = S_ISGID | S_IXGRP;  // without the latter it means something else
  Privileges found;
  const auto add = [&found](bool has, const char* what, bool matter) {
    if (has && !found.matter) found = {what, matter};
  };
  add((info.st_mode & S_ISUID) != 0, "the setuid bit", info.st_uid != executor.user);
  add((info.st_mode & kSetGroup) == kSetGroup, "the setgid bit", info.st_gid != executor.group);
  add(HasCapabilities(path), "file capabilities", executor.user != 0);
  return found;
}

}  // namespace skein::program
