#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tools/skein/doctor/checks.h"
#include "tools/skein/program/outlook.h"
#include "tools/skein/run/preload_library.h"

namespace skein::doctor {

void CheckProgram(const std::string& path, Mode mode, Report& report) {
  const absl::StatusOr<program::Outlook> outlook =
      program::OutlookOf(path, program::Executor::ThisProcess(), run::LibraryFolder());
  if (!outlook.ok()) return report.Fail(outlook.status().message());
  const std::string advice = program::AdviceFor(outlook->kind);
  if (outlook->keeps_require()) {
    return outlook->note.empty() ? report.Ok(outlook->why, advice) : report.Warn(outlook->why, outlook->note);
  }
  if (mode == Mode::kRequire) {
    return report.Fail(absl::StrCat(outlook->why, "; mode require cannot be kept"), advice);
  }
  report.Warn(absl::StrCat(outlook->why, "; it stays on TCP"), advice);
}

}  // namespace skein::doctor
