#include "core/trace/telling.h"

#include <utility>

#include "core/trace/interval.h"
#include "core/trace/tracer.h"

namespace skein::trace {

using std::chrono::nanoseconds;

TracedCall Told(const Record& record, const MethodTable& methods) {
  TracedCall call;
  call.client = record.side == Side::kClient;
  call.method = std::string(methods.Name(record.method));
  call.path = std::string(PathName(record.path));
  call.bytes = record.bytes;
  call.coalesced = record.degree;
  call.clock_error = nanoseconds(record.clock_error_ns);
  const Intervals intervals = IntervalsOf(record.times);
  if (intervals.empty()) return call;
  const uint64_t begin = intervals.front().start_ns;
  // CLOCK_MONOTONIC, as the records' times are.
  call.begin = std::chrono::steady_clock::time_point(nanoseconds(begin));
  for (const Lasted& each : intervals) {
    call.intervals.push_back({IntervalName(each.interval), std::string(WorkName(WorkOf(each.interval))),
                              nanoseconds(each.start_ns - begin), nanoseconds(each.ns)});
  }
  return call;
}

absl::Status TellCalls(uint32_t every, OnTracedCall on_call) {
  if (every == 0 || on_call == nullptr) {
    SetSampling(every);
    SetCallback(nullptr);
    return absl::OkStatus();
  }
  SetCallback([on_call = std::move(on_call)](const Record& record) { on_call(Told(record, Methods())); });
  SetSampling(every);
  if (Enabled()) return absl::OkStatus();
  SetCallback(nullptr);
  return absl::ResourceExhaustedError("no thread is to be had for tracing; see ulimit -u");
}

}  // namespace skein::trace
