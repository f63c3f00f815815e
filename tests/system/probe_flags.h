// What both probe programs share: flags, channel arguments from text, reports as lines of JSON.
#ifndef SKEIN_TESTS_PROCESS_PROBE_FLAGS_H_
#define SKEIN_TESTS_PROCESS_PROBE_FLAGS_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/strings/string_view.h"
#include "tests/system/probe.pb.h"

ABSL_DECLARE_FLAG(std::vector<std::string>, arguments);

namespace skein::probe {

struct Argument {
  std::string name;
  std::variant<int, std::string> value;
};

// --arguments: "name=value" pairs; a value that reads as a number is an integer argument.
std::vector<Argument> Arguments();

std::string ReadFile(const std::string& path);

// "name=value" lines of an authentication context, sorted.
std::vector<std::string> AuthProperties(const grpc::AuthContext* context);

absl::string_view StatusCodeName(grpc::StatusCode code);

// Reads commands, one line of words each, until the end of input; prints what `run` reports as one line of JSON. One
// command is of every program's: "become UID" makes it another user's, as daemons do that root has started.
void ServeCommands(const std::function<Report(const std::vector<std::string>& words)>& run);

// With --forked the process goes on in a child, as daemons and preforked workers do.
void ForkIfAsked();

// Defined by plain_init.cc (does nothing) or skein_init.cc (skein::grpc_transport::Init). Exits when it fails.
void InitTransport();

}  // namespace skein::probe

#endif  // SKEIN_TESTS_PROCESS_PROBE_FLAGS_H_
