// What is said to the user: one finding a line, as soon as it is known.
#ifndef SKEIN_TOOLS_SKEIN_DOCTOR_REPORT_H_
#define SKEIN_TOOLS_SKEIN_DOCTOR_REPORT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace skein::doctor {

struct Finding {
  std::string verdict;  // "ok", "warn", "FAIL"
  std::string fact;
  std::string advice;  // what to do, or what the fact means; may be empty
};

class Report {
 public:
  // Prints each finding at once, in lines of `width` (0: any), the advice below it. Or, silent, only keeps them.
  static Report Printed(size_t width) { return {true, width}; }
  static Report Silent() { return {false, 0}; }

  void Ok(absl::string_view fact, absl::string_view advice = "") { Say("ok", fact, advice); }
  // Skein works, but not as well as it might.
  void Warn(absl::string_view fact, absl::string_view advice = "") { Say("warn", fact, advice); }
  void Fail(absl::string_view fact, absl::string_view advice = "") { Say("FAIL", fact, advice); }

  const std::vector<Finding>& findings() const { return findings_; }
  bool failed() const;

 private:
  Report(bool prints, size_t width) : prints_(prints), width_(width) {}
  void Say(absl::string_view verdict, absl::string_view fact, absl::string_view advice);

  const bool prints_;
  const size_t width_;
  std::vector<Finding> findings_;
};

}  // namespace skein::doctor

#endif  // SKEIN_TOOLS_SKEIN_DOCTOR_REPORT_H_
