// Tells a program of its traced calls.
#ifndef SKEIN_CORE_TRACE_TELLING_H_
#define SKEIN_CORE_TRACE_TELLING_H_

#include <skein/traced.h>

#include <cstdint>

#include "absl/status/status.h"
#include "core/trace/method_table.h"
#include "core/trace/record.h"

namespace skein::trace {

TracedCall Told(const Record& record, const MethodTable& methods);

// SetSampling and SetCallback for programs: `on_call` hears of one call of `every` from now on, of none if that is 0.
// RESOURCE_EXHAUSTED: there is no thread to be had for it.
absl::Status TellCalls(uint32_t every, OnTracedCall on_call);

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_TELLING_H_
