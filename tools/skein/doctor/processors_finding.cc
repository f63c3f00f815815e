#include "tools/skein/doctor/processors_finding.h"

#include "absl/strings/str_cat.h"

namespace skein::doctor {
namespace {

constexpr char kOneProcessor[] = "two processes cannot run at once here: messages wait for the scheduler";
constexpr char kShortQuota[] =
    "one thread at a time waits by spinning; a group that has used its quota up stands still for the rest of the "
    "period, over TCP, too. It is set by resources.limits.cpu (Kubernetes), --cpus (containers), CPUQuota= (systemd)";

}  // namespace

ProcessorsFinding FindProcessors(int in_affinity, const wait::Quota& quota) {
  if (quota.processors >= in_affinity) {
    const bool one = in_affinity == 1;
    return {one, absl::StrCat("processors: ", in_affinity), one ? kOneProcessor : ""};
  }
  const bool is_short = quota.processors < 2;  // Skein counts whole ones
  return {is_short,
          absl::StrCat("processors: ", quota.processors, " of ", in_affinity, ", by the quota in ", quota.file),
          is_short ? kShortQuota : ""};
}

}  // namespace skein::doctor
