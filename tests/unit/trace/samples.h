// What a format must stand: records of normal calls, names that peers give to methods as they like, and all metrics.
#ifndef SKEIN_TESTS_UNIT_TRACE_SAMPLES_H_
#define SKEIN_TESTS_UNIT_TRACE_SAMPLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/aggregate.h"
#include "core/trace/counters.h"
#include "core/trace/method_table.h"
#include "core/trace/metrics.h"
#include "core/trace/record.h"

namespace skein::trace {

// Each byte, alone and among others; what either format has a meaning for.
inline std::vector<std::string> HostileNames() {
  std::vector<std::string> names = {"/greeter.Greeter/Say",
                                    "\"} 1\nskein_forged 1\n",
                                    "\\",
                                    "\\\"",
                                    "\\n",
                                    "\n",
                                    "},{\"ph\":\"X\"",
                                    "</script>",
                                    "\xc3\xa9",
                                    "\xed\xa0\x80",
                                    std::string(1000, '\xff')};
  for (int byte = 0; byte < 256; ++byte) names.push_back(std::string("a") + static_cast<char>(byte) + "0");
  return names;
}

// A call whose stages are `step_ns` apart, from start_ns on.
inline Record CompleteCall(uint32_t method, uint64_t start_ns, uint64_t step_ns = 1000) {
  Record record;
  record.method = method;
  record.bytes = 64;
  record.id = start_ns;
  for (size_t stage = 0; stage <= static_cast<size_t>(Stage::kDelivered); ++stage) {
    record.times[stage] = start_ns + step_ns * stage;
  }
  return record;
}

// A call that took `id` ns, and of which nothing else is known.
inline Record NumberedCall(uint64_t id) {
  Record record;
  record.id = id;
  At(record.times, Stage::kSubmitted) = 1000;
  At(record.times, Stage::kDelivered) = 1000 + id;
  return record;
}

// All that there is to tell: every counter and reason, methods of any name.
inline MetricFamilies AllMetrics() {
  CounterSnapshot counters;
  for (size_t slot = 0; slot < kSlots; ++slot) counters.values[slot] = ~slot;
  MethodTable methods;
  Aggregate aggregate;
  for (const std::string& name : HostileNames()) aggregate.Add(CompleteCall(methods.Intern(name), 5));
  return MetricsOf(counters, aggregate.Snapshot(), methods);
}

}  // namespace skein::trace

#endif  // SKEIN_TESTS_UNIT_TRACE_SAMPLES_H_
