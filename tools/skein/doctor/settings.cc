#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "tools/skein/doctor/checks.h"

namespace skein::doctor {
namespace {

void CheckPollingEngine(Report& report) {
  const char* const set = std::getenv("GRPC_POLL_STRATEGY");
  const std::string engine = set == nullptr ? "" : set;
  if (engine.empty()) return report.Ok("GRPC_POLL_STRATEGY is unset");
  const std::string fact = absl::StrCat("GRPC_POLL_STRATEGY is ", engine);
  if (engine == "all" || engine == "epoll1") return report.Ok(fact);
  report.Warn(fact, "unset it: under any engine but epoll1 connections stay on TCP");
}

// All variables but this one are gRPC's and Thrift's alike. Unset, it says nothing: most programs are not Thrift's.
void CheckThriftMode(Report& report) {
  const char* const set = std::getenv("SKEIN_THRIFT");
  if (set == nullptr) return;
  const std::string variable = absl::StrCat("SKEIN_THRIFT=", set);
  const char* const alone[] = {variable.c_str(), nullptr};
  const EnvironmentOptions environment = OptionsFromEnvironment({}, "SKEIN_THRIFT", alone);
  if (environment.error.ok()) {
    return report.Ok(absl::StrCat("SKEIN_THRIFT is ", ModeName(environment.options.mode)));
  }
  report.Fail(environment.error.message(),
              "connections of Thrift's Skein sockets fail until this is put right; docs/options.md has every option");
}

}  // namespace

Options CheckSettings(Report& report) {
  const EnvironmentOptions environment = OptionsFromEnvironment({}, "SKEIN_GRPC", environ);
  const bool off = environment.options.mode == Mode::kOff;
  if (!environment.error.ok()) {
    report.Fail(environment.error.message(),
                absl::StrCat(off ? "connections that ask for Skein fail" : "connections fail",
                             " until this is put right; docs/options.md has every option"));
  } else if (std::getenv("SKEIN_GRPC") == nullptr) {
    report.Ok("SKEIN_GRPC is unset",
              "Skein is off, but for channels and servers whose argument skein.mode says otherwise");
  } else {
    report.Ok(absl::StrCat("SKEIN_GRPC is ", ModeName(environment.options.mode)));
  }
  CheckThriftMode(report);
  if (!environment.warning.empty()) report.Warn(environment.warning, "docs/options.md has every option");
  CheckPollingEngine(report);
  return environment.error.ok() ? environment.options : Options();
}

}  // namespace skein::doctor
