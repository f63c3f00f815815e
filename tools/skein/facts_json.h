// What the verbs find, as JSON for programs: the facts of their tables and lists, in units that names say. Strings are
// ASCII with escapes, and what is no UTF-8 in them is replaced: other processes have a part in them.
#ifndef SKEIN_TOOLS_SKEIN_FACTS_JSON_H_
#define SKEIN_TOOLS_SKEIN_FACTS_JSON_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/base/options.h"
#include "core/inspect/live_paths.h"
#include "core/trace/metric_family.h"
#include "tools/skein/activity.h"
#include "tools/skein/doctor/report.h"
#include "tools/skein/service_activity.h"
#include "tools/skein/stage_table.h"

namespace skein {

// An object on a line, without the line's end.
std::string PathJson(pid_t process, const std::string& name, const inspect::LivePath& path);
// Arrays. Those of activities are one line, for there may be one each second.
std::string ActivitiesJson(const std::vector<Activity>& activities);
std::string ServiceActivitiesJson(const std::vector<ServiceActivity>& activities);
std::string StagesJson(const std::vector<StageGroup>& groups);
std::string MetricsJson(const trace::MetricFamilies& families);
std::string OptionsJson(absl::Span<const OptionSpec> options);
std::string FindingsJson(const std::vector<doctor::Finding>& findings);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_FACTS_JSON_H_
