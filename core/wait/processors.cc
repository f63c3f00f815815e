#include "core/wait/processors.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/base/deadline.h"

namespace skein::wait {
namespace {

constexpr std::chrono::seconds kAskAgain{1};

using Words = std::vector<std::string>;

Words WordsOfFile(const std::string& path) {
  std::ifstream file(path);
  Words words;
  for (std::string word; file >> word;) words.push_back(std::move(word));
  return words;
}

Quota Share(const std::string& quota, const std::string& period, std::string file) {
  int64_t time = 0;
  int64_t of = 0;
  // "max" and -1 are no quota.
  if (!absl::SimpleAtoi(quota, &time) || !absl::SimpleAtoi(period, &of) || time <= 0 || of <= 0) return {};
  return {static_cast<double>(time) / static_cast<double>(of), std::move(file)};
}

// Of one group, whichever version its hierarchy is of.
Quota QuotaOfGroup(const std::string& folder) {
  std::string file = folder + "/cpu.max";
  if (const Words max = WordsOfFile(file); max.size() == 2) return Share(max[0], max[1], std::move(file));
  file = folder + "/cpu.cfs_quota_us";
  const Words quota = WordsOfFile(file);
  const Words period = WordsOfFile(folder + "/cpu.cfs_period_us");
  return quota.size() == 1 && period.size() == 1 ? Share(quota[0], period[0], std::move(file)) : Quota{};
}

// Of the group `path` below `mounted`, and of all groups above it that can be seen.
Quota QuotaOfLevels(const std::string& mounted, absl::string_view path) {
  Quota least = QuotaOfGroup(mounted);
  std::string folder = mounted;
  for (absl::string_view name : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    absl::StrAppend(&folder, "/", name);
    least = std::min(least, QuotaOfGroup(folder));
  }
  return least;
}

// A hierarchy of cgroups that is mounted: `root` is the group that `mounted` shows.
struct Mount {
  std::string root;
  std::string mounted;
};

// A line of /proc/PID/mountinfo: id, parent, device, root, mount point, options, optional fields, "-", type, source,
// options of the file system (proc(5)).
bool Parse(absl::string_view line, bool version2, Mount& mount) {
  const std::pair<absl::string_view, absl::string_view> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
  const std::vector<absl::string_view> before = absl::StrSplit(halves.first, ' ');
  const std::vector<absl::string_view> after = absl::StrSplit(halves.second, ' ');
  if (before.size() < 5 || after.size() < 3) return false;
  const std::vector<absl::string_view> controllers = absl::StrSplit(after[2], ',');
  const bool fits =
      version2 ? after[0] == "cgroup2" : after[0] == "cgroup" && absl::c_linear_search(controllers, "cpu");
  // Blanks and backslashes are escaped: \040, \134.
  return fits && absl::CUnescape(before[3], &mount.root) && absl::CUnescape(before[4], &mount.mounted);
}

// What of `group` lies below the group that is mounted. A container may see its group's path as the host has it, while
// its mount shows the group itself: then the mount is all that can be seen.
absl::string_view Below(absl::string_view group, absl::string_view root) {
  if (root == "/") return group;
  if (!absl::StartsWith(group, root)) return "";
  return group.substr(root.size());
}

Quota QuotaOfHierarchy(const CgroupFiles& files, absl::string_view group, bool version2) {
  std::ifstream mounts(files.process + "/mountinfo");
  Quota least;
  for (std::string line; std::getline(mounts, line);) {
    Mount mount;
    if (!Parse(line, version2, mount)) continue;
    least = std::min(least, QuotaOfLevels(mount.mounted, Below(group, mount.root)));
  }
  return least;
}

}  // namespace

int InAffinity() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof(mine), &mine) == 0) return CPU_COUNT(&mine);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));  // the machine has more processors than a cpu_set_t
}

Quota CgroupQuota(const CgroupFiles& files) {
  std::ifstream groups(files.process + "/cgroup");
  if (!groups.is_open()) return QuotaOfGroup(files.fallback);
  Quota least;
  // "hierarchy:controllers:path" (cgroups(7)); version 2's hierarchy is 0, and has no list of controllers.
  for (std::string line; std::getline(groups, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const std::vector<absl::string_view> controllers = absl::StrSplit(parts[1], ',');
    const bool version2 = parts[0] == "0";
    if (!version2 && !absl::c_linear_search(controllers, "cpu")) continue;
    least = std::min(least, QuotaOfHierarchy(files, parts[2], version2));
  }
  return least;
}

int Processors() {
  // Relaxed: a number that may be a second old. Several threads may ask at once, and find the same.
  static std::atomic<int> processors{1};
  static std::atomic<Clock::rep> ask_at{0};
  const Deadline now = Clock::now();
  if (now.time_since_epoch().count() < ask_at.load(std::memory_order_relaxed)) {
    return processors.load(std::memory_order_relaxed);
  }
  ask_at.store((now + kAskAgain).time_since_epoch().count(), std::memory_order_relaxed);
  const double left = std::min<double>(InAffinity(), CgroupQuota().processors);
  const int found = std::max(1, static_cast<int>(left));
  processors.store(found, std::memory_order_relaxed);
  return found;
}

}  // namespace skein::wait
