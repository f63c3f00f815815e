#include "tools/skein/doctor/report.h"

#include <cstdio>

#include "absl/algorithm/container.h"
#include "absl/strings/str_format.h"
#include "tools/skein/wrapped.h"

namespace skein::doctor {

bool Report::failed() const {
  return absl::c_any_of(findings_, [](const Finding& finding) { return finding.verdict == "FAIL"; });
}

void Report::Say(absl::string_view verdict, absl::string_view fact, absl::string_view advice) {
  findings_.push_back({std::string(verdict), std::string(fact), std::string(advice)});
  if (!prints_) return;
  std::string text = absl::StrFormat("%-5s %s\n", verdict, Wrapped(fact, 6, width_));
  if (!advice.empty()) absl::StrAppendFormat(&text, "      -> %s\n", Wrapped(advice, 9, width_));
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);  // what follows may take seconds
}

}  // namespace skein::doctor
