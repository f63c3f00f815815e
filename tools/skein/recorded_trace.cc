#include "tools/skein/recorded_trace.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/trace/aggregate.h"
#include "core/trace/chrome_trace.h"
#include "core/trace/method_table.h"
#include "core/trace/path.h"
#include "core/trace/record.h"
#include "core/trace/stage.h"

namespace skein {
namespace {

using nlohmann::json;

// What the object has under this name; null where there is no such thing, or no object.
const json& Field(const json& object, const char* name) {
  static const json* const none = new json;
  if (!object.is_object()) return *none;
  const auto found = object.find(name);
  return found == object.end() ? *none : *found;
}

absl::string_view Text(const json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  return text == nullptr ? absl::string_view() : absl::string_view(*text);
}

// Which of the first `count` has this name.
template <typename Enum>
std::optional<Enum> Named(const json& value, size_t count, absl::string_view (*name_of)(Enum)) {
  const absl::string_view name = Text(value);
  for (size_t i = 0; i < count; ++i) {
    if (name == name_of(static_cast<Enum>(i))) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

bool ReadTimes(const json& stages, trace::StageTimes& times) {
  size_t known = 0;
  for (size_t stage = 0; stage < trace::kStages; ++stage) {
    const json& time = Field(stages, std::string(trace::StageName(static_cast<trace::Stage>(stage))).c_str());
    if (time.is_null()) continue;
    if (!time.is_number_unsigned()) return false;
    times[stage] = time.get<uint64_t>();
    ++known;
  }
  return known == stages.size();
}

// Of the arguments of a record's first event. None if they are not as ChromeTrace writes them.
std::optional<trace::Record> RecordOf(const json& arguments, trace::MethodTable& methods) {
  trace::Record record;
  const auto kind = Named<trace::RecordKind>(Field(arguments, "kind"), 2, trace::RecordKindName);
  const auto side = Named<trace::Side>(Field(arguments, "side"), 2, trace::SideName);
  const auto path = Named<trace::Path>(Field(arguments, "path"), trace::kPaths, trace::PathName);
  const json& clock_error = Field(arguments, "clock_error_ns");
  const json& method = Field(arguments, "method");
  std::string name;
  if (!kind.has_value() || !side.has_value() || !path.has_value() || !clock_error.is_number_unsigned() ||
      clock_error.get<uint64_t>() > std::numeric_limits<int64_t>::max() || !method.is_string() ||
      !absl::CUnescape(Text(method), &name) || !ReadTimes(Field(arguments, "stages"), record.times)) {
    return std::nullopt;
  }
  record.kind = *kind;
  record.side = *side;
  record.path = *path;
  record.method = methods.Intern(name);
  record.clock_error_ns = clock_error.get<int64_t>();
  return record;
}

// What is wanted of a trace, event by event: a long one is never in memory as a whole.
class Reader {
 public:
  // As nlohmann's parser calls it. False: what was read is not kept.
  bool operator()(int depth, json::parse_event_t event, const json& read) {
    constexpr int kDepthOfEvents = 2;  // {"traceEvents": [ here
    if (depth != kDepthOfEvents || event != json::parse_event_t::object_end) return true;
    const json& arguments = Field(read, "args");
    if (Field(arguments, "stages").is_null()) return false;
    const std::optional<trace::Record> record = RecordOf(arguments, methods_);
    if (record.has_value()) {
      aggregate_.Add(*record);
    } else {
      ++strange_;
    }
    return false;
  }

  absl::StatusOr<std::vector<inspect::SeriesFigures>> Figures(const json& rest) {
    const json& about = Field(rest, "otherData");
    if (Text(Field(about, "writer")) != trace::kTraceWriter || !Field(rest, "traceEvents").is_array()) {
      return absl::FailedPreconditionError(absl::StrCat("no trace that ", trace::kTraceWriter, " wrote"));
    }
    if (Field(about, "form") != trace::kTraceForm) {
      return absl::FailedPreconditionError("a trace that another version of skein wrote; use that one");
    }
    if (strange_ > 0) return absl::DataLossError(absl::StrCat("changed since it was written, at ", strange_, " calls"));
    return inspect::FiguresOf(aggregate_.Snapshot(), methods_);
  }

 private:
  trace::MethodTable methods_;
  trace::Aggregate aggregate_;
  size_t strange_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<inspect::SeriesFigures>> FiguresOfTrace(std::istream& trace) {
  Reader reader;
  json rest;
  try {
    rest = json::parse(trace, std::ref(reader));
  } catch (const json::parse_error& error) {
    return absl::InvalidArgumentError(absl::StrCat("no JSON, or not to its end: at byte ", error.byte));
  } catch (const json::exception&) {
    return absl::InvalidArgumentError("JSON with numbers that are none");
  }
  return reader.Figures(rest);
}

}  // namespace skein
