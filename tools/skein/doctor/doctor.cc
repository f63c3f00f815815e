#include "tools/skein/doctor/doctor.h"

#include <cstdio>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tools/skein/doctor/checks.h"
#include "tools/skein/program/executable.h"

namespace skein {
namespace {

constexpr char kHelp[] =
    "usage: skein doctor [--tls] [HOST:PORT]\n"
    "       skein doctor PROGRAM\n"
    "\n"
    "Says what this machine can do for Skein: a line for each finding (ok, warn or FAIL), and what to do about it.\n"
    "With HOST:PORT also which path a client here would use to the gRPC server there, and why not a better one.\n"
    "With PROGRAM, a file or a command, also what the preload library (skein run) can do for it.\n"
    "\n"
    "  --tls    the server speaks TLS (one without Skein logs a failed handshake)\n"
    "  --help   this\n"
    "\n"
    "The SKEIN_* variables hold here as they do for a program. Exit status: 0 nothing failed, 1 something did,\n"
    "2 called wrongly.\n";

struct CommandLine {
  std::optional<doctor::HostPort> target;
  std::string program;  // its path; empty: none
  bool tls = false;
  bool help = false;
};

// A program, or else HOST:PORT. INVALID_ARGUMENT: neither.
absl::Status ParseSubject(const std::string& argument, CommandLine& line) {
  const absl::StatusOr<std::string> program = program::FindExecutable(argument);
  if (program.ok()) {
    line.program = *program;
    return absl::OkStatus();
  }
  absl::StatusOr<doctor::HostPort> target = doctor::ParseHostPort(argument);
  if (!target.ok())
    return absl::InvalidArgumentError(absl::StrCat(target.status().message(), "; and ", program.status().message()));
  line.target = *std::move(target);
  return absl::OkStatus();
}

// INVALID_ARGUMENT: called wrongly.
absl::StatusOr<CommandLine> Parse(const std::vector<std::string>& arguments) {
  CommandLine line;
  for (const std::string& argument : arguments) {
    if (argument == "--tls") {
      line.tls = true;
    } else if (argument == "--help" || argument == "-h") {
      line.help = true;
    } else if (absl::StartsWith(argument, "-")) {
      return absl::InvalidArgumentError(absl::StrCat("unknown option '", argument, "'; there are: --tls, --help"));
    } else if (line.target.has_value() || !line.program.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("one HOST:PORT or PROGRAM at a time, but there is also '", argument, "'"));
    } else if (absl::Status status = ParseSubject(argument, line); !status.ok()) {
      return status;
    }
  }
  if (line.tls && !line.target.has_value() && !line.help) {
    return absl::InvalidArgumentError("--tls is about a server: add its HOST:PORT");
  }
  return line;
}

}  // namespace

int RunDoctor(const std::vector<std::string>& arguments) {
  const absl::StatusOr<CommandLine> line = Parse(arguments);
  if (!line.ok()) {
    std::fprintf(stderr, "skein doctor: %s\n", std::string(line.status().message()).c_str());
    return 2;
  }
  if (line->help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  doctor::Report report;
  const Options options = doctor::CheckSettings(report);
  doctor::CheckGrpcLibrary(report);
  doctor::CheckLimits(report);
  doctor::CheckContainer(report);
  doctor::CheckRdma(options.rdma, report);
  doctor::CheckFabrics(options, report);
  if (line->target.has_value()) doctor::CheckPeer(*line->target, line->tls, options, report);
  if (!line->program.empty()) doctor::CheckProgram(line->program, options.mode, report);
  return report.failed() ? 1 : 0;
}

}  // namespace skein
