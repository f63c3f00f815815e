#include "core/trace/chrome_trace.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/trace/interval.h"
#include "core/trace/quoted.h"

namespace skein::trace {
namespace {

std::string Microseconds(uint64_t ns) { return absl::StrFormat("%d.%03d", ns / 1000, ns % 1000); }

// What is to be shown of one record on one lane.
struct Bar {
  const Record* record;
  uint64_t start_ns;
  uint64_t ns;
  Intervals below;
  std::string name;    // in quotes
  std::string stages;  // of the record's first bar, further arguments: the record's times
};

struct Lane {
  size_t process;
  size_t lane;
};

// Gives each bar, in the order of their starts, the first lane of its link that is free then.
class Lanes {
 public:
  struct Process {
    size_t number;
    std::vector<uint64_t> free_from;  // by lane
  };
  using Key = std::tuple<Side, Path, uint32_t>;

  Lane Take(const Bar& bar) {
    const Key key(bar.record->side, bar.record->path, bar.record->link);
    Process& process = processes_.try_emplace(key, Process{processes_.size() + 1, {}}).first->second;
    std::vector<uint64_t>& lanes = process.free_from;
    size_t lane = 0;
    while (lane < lanes.size() && lanes[lane] > bar.start_ns) ++lane;
    if (lane == lanes.size()) lanes.push_back(0);
    lanes[lane] = bar.start_ns + bar.ns;
    return {process.number, lane};
  }
  const std::map<Key, Process>& processes() const { return processes_; }

 private:
  std::map<Key, Process> processes_;
};

std::string NameOf(const Record& record, const MethodTable& methods) {
  return Quoted(record.method == kNoMethod ? RecordKindName(record.kind) : methods.Name(record.method));
}

// All that is known, as it was before IntervalsOf put it in order.
std::string StagesOf(const Record& record) {
  std::string stages;
  for (size_t stage = 0; stage < kStages; ++stage) {
    if (record.times[stage] == 0) continue;
    absl::StrAppend(&stages, stages.empty() ? "" : ",", Quoted(StageName(static_cast<Stage>(stage))), ":",
                    record.times[stage]);
  }
  return absl::StrCat(",\"stages\":{", stages, "}");
}

void AddBars(std::vector<Bar>& bars, const Record& record, const MethodTable& methods) {
  const Intervals intervals = IntervalsOf(record.times);
  std::string stages = StagesOf(record);
  if (!intervals.empty()) {
    const uint64_t start = intervals.front().start_ns;
    const uint64_t end = intervals.back().start_ns + intervals.back().ns;
    bars.push_back({&record, start, end - start, intervals, NameOf(record, methods), std::move(stages)});
    stages.clear();
  }
  const std::optional<Lasted> persisting = PersistingOf(record.times);
  if (persisting.has_value()) {
    bars.push_back({&record,
                    persisting->start_ns,
                    persisting->ns,
                    {},
                    Quoted(IntervalName(persisting->interval)),
                    std::move(stages)});
  }
}

// Begins and ends rather than complete events: with these, viewers add a duration to a time in floating point, and may
// find that neighbours overlap. Named both: some pair them by that.
void AppendEvent(std::string& json, char phase, absl::string_view name, Lane lane, uint64_t ns,
                 absl::string_view more = "") {
  absl::StrAppend(&json, "{\"ph\":\"", absl::string_view(&phase, 1), "\",\"name\":", name, ",\"pid\":", lane.process,
                  ",\"tid\":", lane.lane, ",\"ts\":", Microseconds(ns), more, "},\n");
}

std::string ArgumentsOf(const Record& record, const MethodTable& methods) {
  // The id as text: JSON's numbers are not exact to 64 bits.
  return absl::StrCat("\"id\":\"", record.id, "\",\"kind\":\"", RecordKindName(record.kind),
                      "\",\"method\":", Quoted(methods.Name(record.method)), ",\"side\":\"", SideName(record.side),
                      "\",\"path\":\"", PathName(record.path), "\",\"stream\":", record.stream,
                      ",\"bytes\":", record.bytes, ",\"degree\":", record.degree,
                      ",\"clock_error_ns\":", record.clock_error_ns);
}

void AppendBar(std::string& json, const Bar& bar, Lane lane, const MethodTable& methods) {
  const Record& record = *bar.record;
  AppendEvent(json, 'B', bar.name, lane, bar.start_ns,
              absl::StrCat(",\"cat\":\"", RecordKindName(record.kind), "\",\"args\":{", ArgumentsOf(record, methods),
                           bar.stages, "}"));
  for (const Lasted& each : bar.below) {
    const std::string name = Quoted(IntervalName(each.interval));
    AppendEvent(json, 'B', name, lane, each.start_ns,
                absl::StrCat(",\"cat\":\"", WorkName(WorkOf(each.interval)), "\""));
    AppendEvent(json, 'E', name, lane, each.start_ns + each.ns);
  }
  AppendEvent(json, 'E', bar.name, lane, bar.start_ns + bar.ns);
}

}  // namespace

std::string ChromeTrace(absl::Span<const Record> records, const MethodTable& methods) {
  std::vector<Bar> bars;
  for (const Record& record : records) AddBars(bars, record, methods);
  absl::c_stable_sort(bars, [](const Bar& a, const Bar& b) { return a.start_ns < b.start_ns; });
  std::string json = absl::StrCat("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"writer\":\"", kTraceWriter,
                                  "\",\"form\":", kTraceForm, "},\"traceEvents\":[\n");
  Lanes lanes;
  for (const Bar& bar : bars) AppendBar(json, bar, lanes.Take(bar), methods);
  for (const auto& [key, process] : lanes.processes()) {
    const auto& [side, path, link] = key;
    absl::StrAppend(&json, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":", process.number, ",\"args\":{\"name\":\"",
                    SideName(side), ", ", PathName(path), " link ", link, "\"}},\n");
  }
  if (!bars.empty()) json.erase(json.size() - 2, 1);  // the last comma
  return absl::StrCat(json, "]}\n");
}

}  // namespace skein::trace
