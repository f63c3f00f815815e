// What doctor says of the processors that this process may keep busy, and of who limits them.
#ifndef SKEIN_TOOLS_SKEIN_DOCTOR_PROCESSORS_FINDING_H_
#define SKEIN_TOOLS_SKEIN_DOCTOR_PROCESSORS_FINDING_H_

#include <string>

#include "core/wait/processors.h"

namespace skein::doctor {

struct ProcessorsFinding {
  bool warns = false;
  std::string fact;
  std::string advice;
};

// `in_affinity`: how many the process may run on. The quota is that of its cgroups.
ProcessorsFinding FindProcessors(int in_affinity, const wait::Quota& quota);

}  // namespace skein::doctor

#endif  // SKEIN_TOOLS_SKEIN_DOCTOR_PROCESSORS_FINDING_H_
