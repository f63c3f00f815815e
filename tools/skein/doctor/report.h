// What is said to the user: one finding a line, as soon as it is known.
#ifndef SKEIN_TOOLS_SKEIN_DOCTOR_REPORT_H_
#define SKEIN_TOOLS_SKEIN_DOCTOR_REPORT_H_

#include "absl/strings/string_view.h"

namespace skein::doctor {

// `advice`: what to do, or what the fact means; a line below it.
class Report {
 public:
  void Ok(absl::string_view fact, absl::string_view advice = "") { Say("ok", fact, advice); }
  // Skein works, but not as well as it might.
  void Warn(absl::string_view fact, absl::string_view advice = "") { Say("warn", fact, advice); }
  void Fail(absl::string_view fact, absl::string_view advice = "");

  bool failed() const { return failed_; }

 private:
  static void Say(absl::string_view verdict, absl::string_view fact, absl::string_view advice);

  bool failed_ = false;
};

}  // namespace skein::doctor

#endif  // SKEIN_TOOLS_SKEIN_DOCTOR_REPORT_H_
