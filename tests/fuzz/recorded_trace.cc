// Any file is a trace that skein record wrote, or one of three errors; so is what several libraries told of themselves.
#include "tools/skein/recorded_trace.h"

#include <sstream>

#include "core/trace/chrome_trace.h"
#include "core/trace/method_table.h"
#include "tests/fuzz/fuzz_target.h"
#include "tools/skein/merged_trace.h"

namespace skein::fuzz {
namespace {

std::string Trace() {
  trace::MethodTable methods;
  trace::Record record;
  record.method = methods.Intern("/a.B/C");
  record.clock_error_ns = 3;
  for (size_t stage = 0; stage < trace::kStages; ++stage) record.times[stage] = 1000 + 7 * stage;
  return trace::ChromeTrace({record}, methods);
}

}  // namespace

std::vector<std::string> Seeds() { return {Trace(), trace::ChromeTrace({}, trace::MethodTable()), "{}", "[1,\"a\"]"}; }

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fuzz::Require;
  const std::string text(skein::fuzz::Text(data, size));
  std::istringstream file(text);
  const auto figures = skein::FiguresOfTrace(file);
  Require(figures.ok() || absl::IsInvalidArgument(figures.status()) || absl::IsFailedPrecondition(figures.status()) ||
              absl::IsDataLoss(figures.status()),
          "a reason");
  static const std::string honest = skein::fuzz::Seeds().front();
  const auto merged = skein::MergedTrace({honest, text});
  Require(merged.ok() || absl::IsDataLoss(merged.status()), "merged, or data loss");
  return 0;
}
