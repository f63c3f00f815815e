// Records as trace events in JSON, for Perfetto (ui.perfetto.dev) and chrome://tracing.
#ifndef SKEIN_CORE_TRACE_CHROME_TRACE_H_
#define SKEIN_CORE_TRACE_CHROME_TRACE_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/trace/method_table.h"
#include "core/trace/record.h"

namespace skein::trace {

// A "process" is a link at one side, its "threads" are lanes: as many as it had records at once, since events of one
// thread must not overlap. Each record is an event, named by its method, from its first known stage to its last; below
// it is one for each of its intervals, and on another lane one for PersistingOf. Times are microseconds of
// CLOCK_MONOTONIC, to the nanosecond. Method names may be any bytes.
//
// Who reads it back needs no guess: the first event of each record has, besides kind, side, path and method, the times
// of all its stages, as they are in the record; the others are drawn from these. The method is Quoted's text.
inline constexpr absl::string_view kTraceWriter = "skein record";
inline constexpr int kTraceForm = 1;  // another one when readers would have to know
// Of as many records as are ever kept (recording.h), whatever their names.
inline constexpr size_t kMostTraceBytes = size_t{256} << 20;
std::string ChromeTrace(absl::Span<const Record> records, const MethodTable& methods);

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_CHROME_TRACE_H_
