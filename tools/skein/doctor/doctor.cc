#include <cstdio>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "tools/skein/doctor/checks.h"
#include "tools/skein/facts_json.h"
#include "tools/skein/host_port.h"
#include "tools/skein/program/executable.h"
#include "tools/skein/terminal.h"
#include "tools/skein/verbs.h"

namespace skein {
namespace {

struct CommandLine {
  std::optional<HostPort> target;
  std::string program;  // its path; empty: none
  bool tls = false;
  bool json = false;
};

// A program, or else HOST:PORT.
Setter Subject(CommandLine& line) {
  return [&line](const std::string& word) {
    absl::StatusOr<std::string> program = program::FindExecutable(word);
    if (program.ok()) {
      line.program = *std::move(program);
      return absl::OkStatus();
    }
    absl::StatusOr<HostPort> target = ParseHostPort(word);
    if (!target.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(target.status().message(), "; and ", program.status().message()));
    }
    line.target = *std::move(target);
    return absl::OkStatus();
  };
}

absl::Status Check(const CommandLine& line) {
  if (!line.tls || line.target.has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError("--tls is about a server: add its HOST:PORT");
}

absl::StatusOr<int> Run(const CommandLine& line) {
  doctor::Report report = line.json ? doctor::Report::Silent() : doctor::Report::Printed(TerminalWidth());
  const Options options = doctor::CheckSettings(report);
  doctor::CheckGrpcLibrary(report);
  doctor::CheckLimits(report);
  doctor::CheckContainer(report);
  doctor::CheckRdma(options.rdma, report);
  doctor::CheckService(options.rdma, report);
  doctor::CheckFabrics(options, report);
  if (line.target.has_value()) doctor::CheckPeer(*line.target, line.tls, options, report);
  if (!line.program.empty()) doctor::CheckProgram(line.program, options.mode, report);
  if (line.json) std::puts(FindingsJson(report.findings()).c_str());
  return report.failed() ? 1 : 0;
}

}  // namespace

Verb DoctorVerb() {
  const auto line = std::make_shared<CommandLine>();
  return {
      .name = "doctor",
      .summary = "what this machine can do for Skein, and which path leads to a server",
      .about =
          "Says what this machine can do for Skein: a line for each finding (ok, warn or FAIL), and what to do "
          "about it. With HOST:PORT also which path a client here would use to the gRPC server there, and why "
          "not a better one. With PROGRAM, a file or a command, also what the preload library (skein run) can "
          "do for it.\n"
          "The SKEIN_* variables hold here as they do for a program. Exit status: 0 nothing failed, 1 something "
          "did, 2 called wrongly.",
      .options = {{"--tls", "", "the server speaks TLS (one without Skein logs a failed handshake)", Yes(line->tls)},
                  JsonOption(line->json)},
      .operand = {Operand::Count::kOne, "HOST:PORT|PROGRAM", "", Subject(*line)},
      .examples = {{"skein doctor", "this machine"},
                   {"skein doctor 10.9.0.1:50070", "and the path to that server"},
                   {"skein doctor --tls [::1]:50070", "the same, of a server that speaks TLS"},
                   {"skein doctor /usr/sbin/collectd", "what skein run can do for that program"}},
      .check = [line] { return Check(*line); },
      .run = [line] { return Run(*line); }};
}

}  // namespace skein
