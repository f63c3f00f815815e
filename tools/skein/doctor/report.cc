#include "tools/skein/doctor/report.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_format.h"

namespace skein::doctor {

void Report::Fail(absl::string_view fact, absl::string_view advice) {
  failed_ = true;
  Say("FAIL", fact, advice);
}

void Report::Say(absl::string_view verdict, absl::string_view fact, absl::string_view advice) {
  std::string text = absl::StrFormat("%-5s %s\n", verdict, fact);
  if (!advice.empty()) absl::StrAppendFormat(&text, "      -> %s\n", advice);
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);  // what follows may take seconds
}

}  // namespace skein::doctor
