// A trace that skein record wrote, read again.
#ifndef SKEIN_TOOLS_SKEIN_RECORDED_TRACE_H_
#define SKEIN_TOOLS_SKEIN_RECORDED_TRACE_H_

#include <istream>
#include <vector>

#include "absl/status/statusor.h"
#include "core/inspect/tracing.h"

namespace skein {

// The figures that the process itself would have had of these calls: its records are made again, and counted as it
// counts them. INVALID_ARGUMENT: no JSON, or not to its end. FAILED_PRECONDITION: another program's trace, or of
// another form. DATA_LOSS: something in it is not as it was written.
absl::StatusOr<std::vector<inspect::SeriesFigures>> FiguresOfTrace(std::istream& trace);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_RECORDED_TRACE_H_
