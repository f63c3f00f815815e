// How many processors this process may keep busy.
#ifndef SKEIN_CORE_WAIT_PROCESSORS_H_
#define SKEIN_CORE_WAIT_PROCESSORS_H_

#include <limits>
#include <string>

namespace skein::wait {

// Where the kernel tells of cgroups. Tests name folders of their own.
struct CgroupFiles {
  std::string process = "/proc/self";       // has `cgroup` and `mountinfo`
  std::string fallback = "/sys/fs/cgroup";  // where containers mount their own group, for a process without /proc
};

struct Quota {
  double processors = std::numeric_limits<double>::infinity();  // processor time for each second of real time
  std::string file;                                             // that says so; empty: there is no quota

  friend bool operator<(const Quota& a, const Quota& b) { return a.processors < b.processors; }
};

// What the process's cgroups leave. The least of all levels counts, of version 1 (cpu.cfs_quota_us) and of version 2
// (cpu.max).
// (Documentation/scheduler/sched-bwc.rst and Documentation/admin-guide/cgroup-v2.rst of the Linux kernel.)
Quota CgroupQuota(const CgroupFiles& files = {});

// The processors on which the calling thread may run.
int InAffinity();

// The processors that affinity and cgroup quotas leave, in whole ones, at least one. Any thread. An administrator may
// change both at any time: this asks anew, at most once in a second.
int Processors();

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_PROCESSORS_H_
