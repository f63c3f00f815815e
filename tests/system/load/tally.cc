#include "tests/system/load/tally.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tests/support/held.h"
#include "tests/system/load/options.h"

namespace skein::load {
namespace {

// As a JSON string.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "/"}, {"\"", "'"}, {"\n", " "}}), "\"");
}

std::string Value(uint64_t number) { return absl::StrCat(number); }
std::string Value(const std::string& text) { return Quoted(text); }

// As a JSON object.
template <typename Mapped>
std::string Text(const std::map<std::string, Mapped>& map) {
  const auto one = [](std::string* out, const auto& each) {
    absl::StrAppend(out, Quoted(each.first), ": ", Value(each.second));
  };
  return absl::StrCat("{", absl::StrJoin(map, ", ", one), "}");
}

}  // namespace

Tally::Underway::Underway(Tally& tally, absl::Duration deadline) : tally_(tally) {
  const Held lock(tally_.mu_);
  due_ = tally_.due_.insert(deadline);
}

Tally::Underway::~Underway() {
  const Held lock(tally_.mu_);
  tally_.due_.erase(due_);
}

void Tally::Ended(const std::string& status, const std::string& why, absl::Duration took, absl::Duration late,
                  uint64_t bytes) {
  const Held lock(mu_);
  ++statuses_[status];
  if (!why.empty()) why_[status] = why;
  late_ = std::max(late_, late);
  if (status != "OK") return;
  times_.push_back(took);
  bytes_ += bytes;
}

void Tally::Over(absl::string_view path) {
  const Held lock(mu_);
  ++paths_[std::string(path)];
}

void Tally::Wrong(absl::string_view what) {
  const Held lock(mu_);
  ++wrong_;
  what_ = std::string(what);
}

std::string Tally::Report() {
  const Held lock(mu_);
  if (!due_.empty()) late_ = std::max(late_, Elapsed() - *due_.begin());
  std::vector<absl::Duration> times = std::exchange(times_, {});
  std::sort(times.begin(), times.end());
  const auto us = [&times](double fraction) {
    if (times.empty()) return 0.0;
    return absl::ToDoubleMicroseconds(times[static_cast<size_t>(static_cast<double>(times.size() - 1) * fraction)]);
  };
  return absl::StrFormat(
      R"({"statuses": %s, "why": %s, "paths": %s, "wrong": %d, "what": "%s", "late_ms": %.1f, "p50_us": %.1f, "p99_us": %.1f, )"
      R"("bytes": %d})",
      Text(std::exchange(statuses_, {})), Text(std::exchange(why_, {})), Text(std::exchange(paths_, {})),
      std::exchange(wrong_, 0), std::exchange(what_, ""),
      absl::ToDoubleMilliseconds(std::exchange(late_, absl::ZeroDuration())), us(0.5), us(0.99),
      std::exchange(bytes_, 0));
}

}  // namespace skein::load
