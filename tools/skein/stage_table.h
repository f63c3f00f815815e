// Where the time of calls went, for people.
#ifndef SKEIN_TOOLS_SKEIN_STAGE_TABLE_H_
#define SKEIN_TOOLS_SKEIN_STAGE_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "core/inspect/tracing.h"

namespace skein {

// What is told of together: the calls of one method over one path at one side.
using StageGroup = std::vector<inspect::SeriesFigures>;

// Whether it is one of the intervals that add up to the whole: neither that one nor something afterwards.
bool IsPart(const inspect::SeriesFigures& figures);
// Calls before messages; within a group the stages in order.
std::vector<StageGroup> GroupsOf(const std::vector<inspect::SeriesFigures>& all);
// A line for each stage, and the sums. No line is longer than `width` (0: any).
std::string StageTable(const StageGroup& group, size_t width = 0);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_STAGE_TABLE_H_
