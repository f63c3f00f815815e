#include <sys/resource.h>

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/wait/processors.h"
#include "tools/skein/doctor/checks.h"
#include "tools/skein/doctor/processors_finding.h"
#include "tools/skein/doctor/text_file.h"

namespace skein::doctor {
namespace {

constexpr rlim_t kEnoughFiles = 4096;
constexpr rlim_t kEnoughLocked = rlim_t{64} << 20;  // some dozens of links with rings of the default size

std::string Bytes(uint64_t bytes) {
  if (bytes >= 1 << 20) return absl::StrCat(bytes >> 20, " MiB");
  return absl::StrCat(bytes >> 10, " KiB");
}

void CheckOpenFiles(Report& report) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const std::string fact = absl::StrCat("open files: up to ", limit.rlim_cur);
  if (limit.rlim_cur >= kEnoughFiles) return report.Ok(fact);
  report.Warn(fact, absl::StrCat("for many connections: ulimit -n 65536, LimitNOFILE= (systemd), --ulimit nofile= "
                                 "(containers); the hard limit is ",
                                 limit.rlim_max));
}

void CheckLockedMemory(Report& report) {
  rlimit limit = {};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return report.Ok("locked memory: no limit");
  const std::string fact = absl::StrCat("locked memory: up to ", Bytes(limit.rlim_cur));
  if (limit.rlim_cur >= kEnoughLocked) return report.Ok(fact);
  report.Warn(fact,
              "for RDMA alone: ulimit -l unlimited, LimitMEMLOCK=infinity (systemd), --ulimit memlock=-1 (containers)");
}

void CheckProcessors(Report& report) {
  const ProcessorsFinding finding = FindProcessors(wait::InAffinity(), wait::CgroupQuota());
  finding.warns ? report.Warn(finding.fact, finding.advice) : report.Ok(finding.fact, finding.advice);
}

// The value of "HugePages_Free:       3" and the like; 0 if there is none.
uint64_t MemoryInfo(absl::string_view text, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    uint64_t value = 0;
    if (!absl::ConsumePrefix(&line, name) || !absl::ConsumePrefix(&line, ":")) continue;
    absl::ConsumeSuffix(&line, " kB");
    if (absl::SimpleAtoi(line, &value)) return value;
  }
  return 0;
}

void CheckHugePages(Report& report) {
  const std::string info = ReadText("/proc/meminfo");
  const uint64_t size = MemoryInfo(info, "Hugepagesize") << 10;
  const uint64_t total = MemoryInfo(info, "HugePages_Total");
  if (total == 0) return report.Ok("huge pages: none reserved, and none needed");
  report.Ok(
      absl::StrCat("huge pages: ", MemoryInfo(info, "HugePages_Free"), " of ", total, " free, ", Bytes(size), " each"));
}

}  // namespace

void CheckLimits(Report& report) {
  CheckOpenFiles(report);
  CheckLockedMemory(report);
  CheckProcessors(report);
  CheckHugePages(report);
}

}  // namespace skein::doctor
