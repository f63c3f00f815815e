// write_samples prometheus | chrome: what the exporters make of sample records, for parsers that are not ours.
#include <iostream>
#include <string_view>
#include <vector>

#include "core/trace/aggregate.h"
#include "core/trace/chrome_trace.h"
#include "core/trace/counters.h"
#include "core/trace/method_table.h"
#include "core/trace/metrics.h"
#include "core/trace/prometheus.h"
#include "tests/unit/trace/samples.h"

namespace skein::trace {
namespace {

int Write(std::string_view format) {
  MethodTable methods;
  std::vector<Record> records;
  for (const std::string& name : HostileNames()) {
    records.push_back(CompleteCall(methods.Intern(name), 1'000'000'000'000'000 + 500 * records.size()));
  }
  records.push_back(CompleteCall(kNoMethod, 123));
  records.back().kind = RecordKind::kMessage;
  At(records.front().times, Stage::kPersisted) = 1'000'000'000'050'000;
  Aggregate aggregate;
  for (const Record& record : records) aggregate.Add(record);
  CounterSnapshot counters;
  for (size_t slot = 0; slot < kSlots; ++slot) counters.values[slot] = slot + 1;
  if (format == "prometheus") {
    std::cout << PrometheusText(MetricsOf(counters, aggregate.Snapshot(), methods));
  } else if (format == "chrome") {
    std::cout << ChromeTrace(records, methods);
  } else {
    return 2;
  }
  return std::cout.flush() ? 0 : 1;
}

}  // namespace
}  // namespace skein::trace

int main(int argc, char** argv) { return argc == 2 ? skein::trace::Write(argv[1]) : 2; }
