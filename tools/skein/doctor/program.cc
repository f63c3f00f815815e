#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tools/skein/doctor/checks.h"
#include "tools/skein/program/outlook.h"

namespace skein::doctor {
namespace {

using program::Outlook;

std::string AdviceFor(Outlook::Kind kind) {
  switch (kind) {
    case Outlook::Kind::kServed:
      return "skein run, or the preload library and SKEIN_GRPC, put it onto Skein";
    case Outlook::Kind::kNoGrpc:
      return "";
    case Outlook::Kind::kOtherGrpc:
    case Outlook::Kind::kOwnGrpc:
      return "link it to the distribution's libgrpc";
    case Outlook::Kind::kStatic:
      return "link it dynamically, to the distribution's libgrpc";
    case Outlook::Kind::kPrivileged:
      return "call skein::grpc_transport::Init() in its code, or give it what it needs otherwise, as "
             "AmbientCapabilities= of systemd does";
    case Outlook::Kind::kOtherMachine:
    case Outlook::Kind::kOtherLinker:
      return "build it for this machine's system";
  }
  return "";
}

}  // namespace

void CheckProgram(const std::string& path, Mode mode, Report& report) {
  const absl::StatusOr<Outlook> outlook = program::OutlookOf(path, program::Executor::ThisProcess());
  if (!outlook.ok()) return report.Fail(outlook.status().message());
  const std::string advice = AdviceFor(outlook->kind);
  if (outlook->keeps_require()) {
    return outlook->note.empty() ? report.Ok(outlook->why, advice) : report.Warn(outlook->why, outlook->note);
  }
  if (mode == Mode::kRequire) {
    return report.Fail(absl::StrCat(outlook->why, "; mode require cannot be kept"), advice);
  }
  report.Warn(absl::StrCat(outlook->why, "; it stays on TCP"), advice);
}

}  // namespace skein::doctor
