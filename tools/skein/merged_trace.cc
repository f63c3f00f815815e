#include "tools/skein/merged_trace.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace skein {
namespace {

// Keeps the order in which names are written.
using nlohmann::ordered_json;

// trace, events, event, args, stages, and one to spare
constexpr int kDeepest = 6;

// The events' numbers of processes become so much larger. Gives the largest, or 0 if these are no such events.
uint64_t Renumber(ordered_json& events, uint64_t by) {
  uint64_t largest = by;
  for (ordered_json& event : events) {
    if (!event.is_object() || !event.contains("pid") || !event["pid"].is_number_unsigned()) return 0;
    const uint64_t process = event["pid"].get<uint64_t>() + by;
    event["pid"] = process;
    largest = std::max(largest, process);
  }
  return largest;
}

// Null if it is no JSON, or is deeper than such events are: to write it down again takes stack for each level.
ordered_json Parse(const std::string& text) {
  bool too_deep = false;
  const auto keep = [&too_deep](int depth, ordered_json::parse_event_t, const ordered_json&) {
    too_deep |= depth > kDeepest;
    return !too_deep;
  };
  ordered_json trace = ordered_json::parse(text, keep, /*allow_exceptions=*/false);
  return too_deep ? ordered_json() : trace;
}

}  // namespace

absl::StatusOr<std::string> MergedTrace(std::vector<std::string> traces) {
  if (traces.size() == 1) return std::move(traces.front());
  ordered_json merged;
  uint64_t processes = 0;
  for (std::string& text : traces) {
    ordered_json trace = Parse(std::exchange(text, ""));
    if (!trace.is_object() || !trace.contains("traceEvents") || !trace["traceEvents"].is_array()) {
      return absl::DataLossError("calls of another form");
    }
    ordered_json& events = trace["traceEvents"];
    const uint64_t largest = Renumber(events, processes);
    if (largest == 0 && !events.empty()) return absl::DataLossError("calls of another form");
    processes = std::max(processes, largest);
    if (merged.is_null()) {
      merged = std::move(trace);
    } else {
      std::move(events.begin(), events.end(), std::back_inserter(merged["traceEvents"]));
    }
  }
  return absl::StrCat(merged.dump(), "\n");
}

}  // namespace skein
