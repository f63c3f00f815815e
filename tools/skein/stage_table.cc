#include "tools/skein/stage_table.h"

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/printable.h"
#include "core/trace/stage.h"
#include "tools/skein/table.h"
#include "tools/skein/wrapped.h"

namespace skein {
namespace {

using inspect::SeriesFigures;

std::string Micros(double ns) { return absl::StrFormat("%.2f", ns / 1000); }
std::string Micros(uint64_t ns) { return Micros(static_cast<double>(ns)); }

std::string Share(double part, double all) { return all > 0 ? absl::StrFormat("%.0f%%", 100 * part / all) : ""; }

double Mean(const SeriesFigures& figures) {
  return figures.count == 0 ? 0 : static_cast<double>(figures.sum) / static_cast<double>(figures.count);
}

// What the program does when it has the reply, and until when the request was persistent: beside the sum.
bool IsAfterwards(const SeriesFigures& figures) {
  return !figures.whole && (figures.from_stage >= static_cast<uint64_t>(trace::Stage::kDelivered) ||
                            absl::EndsWith(figures.interval, " to persisted"));
}

std::string TitleOf(const SeriesFigures& figures) {
  return absl::StrCat(figures.method.empty() ? (figures.call ? "calls" : "messages") : figures.method, " over ",
                      figures.path, ", seen by the ", figures.client ? "client" : "server");
}

std::vector<std::string> Row(const std::string& name, const SeriesFigures& figures, double whole) {
  return {name,
          figures.whole ? "" : figures.work,
          absl::StrCat(figures.count),
          Micros(figures.p50),
          Micros(figures.p90),
          Micros(figures.p99),
          Micros(figures.p999),
          Micros(figures.max),
          Micros(Mean(figures)),
          Share(Mean(figures), whole)};
}

}  // namespace

bool IsPart(const SeriesFigures& figures) { return !figures.whole && !IsAfterwards(figures); }

std::vector<StageGroup> GroupsOf(const std::vector<SeriesFigures>& all) {
  std::map<std::tuple<bool, std::string, bool, std::string>, StageGroup> groups;
  for (const SeriesFigures& figures : all) {
    groups[{!figures.call, figures.path, !figures.client, figures.method}].push_back(figures);
  }
  std::vector<StageGroup> list;
  for (auto& [key, group] : groups) {
    absl::c_stable_sort(group, [](const SeriesFigures& a, const SeriesFigures& b) {
      return std::tuple(a.whole, a.from_stage) < std::tuple(b.whole, b.from_stage);
    });
    list.push_back(std::move(group));
  }
  return list;
}

std::string StageTable(const StageGroup& group, size_t width) {
  const auto end = absl::c_find_if(group, [](const SeriesFigures& figures) { return figures.whole; });
  const double whole = end == group.end() ? 0 : Mean(*end);
  std::vector<std::vector<std::string>> rows = {
      {"STAGE", "WORK", "COUNT", "P50 us", "P90", "P99", "P99.9", "MAX", "MEAN", "SHARE"}};
  uint64_t medians = 0;
  std::map<std::string, double> by_work;
  for (const SeriesFigures& figures : group) {
    if (!IsPart(figures)) continue;
    rows.push_back(Row(figures.interval, figures, whole));
    medians += figures.p50;
    by_work[figures.work] += Mean(figures) * static_cast<double>(figures.count);
  }
  for (const SeriesFigures& figures : group) {
    if (figures.whole) rows.push_back(Row("from end to end", figures, whole));
  }
  for (const SeriesFigures& figures : group) {
    if (IsAfterwards(figures)) rows.push_back(Row(figures.interval, figures, whole));
  }
  std::string sums = absl::StrCat("sum of the stages' medians: ", Micros(medians), " us");
  if (end != group.end()) {
    const double all = whole * static_cast<double>(end->count);
    for (const auto& [work, sum] : by_work) absl::StrAppend(&sums, "; ", Printable(work), " ", Share(sum, all));
    if (end->clock_error > 0) absl::StrAppend(&sums, "; the other host's clock: +-", Micros(end->clock_error), " us");
  }
  return absl::StrCat(Wrapped(Printable(TitleOf(group.front())), 0, width), "\n", Table(std::move(rows), width),
                      Wrapped(sums, 0, width), "\n");
}

}  // namespace skein
