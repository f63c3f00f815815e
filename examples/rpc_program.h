// What the examples of <skein/rpc.h> have in common: a service is functions by number, which know nothing of what
// carries their calls; a client reads its commands from standard input, a line each.
#ifndef SKEIN_EXAMPLES_RPC_PROGRAM_H_
#define SKEIN_EXAMPLES_RPC_PROGRAM_H_

#include <skein/rpc.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace skein::examples {

inline constexpr absl::Duration kPatience = absl::Seconds(10);

// The answer stays valid until the next call. One thread calls.
using Function = std::function<absl::StatusOr<absl::string_view>(absl::string_view request)>;
using Functions = std::map<uint32_t, Function>;

// The server answers calls of these numbers by these functions, which outlive it.
absl::Status HandleAll(rpc::Server& server, const Functions& functions);
// Prints "serving at ADDRESS", and goes on until it is killed.
absl::Status Serve(const Functions& functions, absl::string_view at);
// The same of a server that has memory attached.
absl::Status Serve(rpc::Server& server, const Functions& functions, absl::string_view at);

// Gives what to print for a command's words, at least one.
using Command = std::function<absl::StatusOr<std::string>(rpc::Connection&, const std::vector<std::string>& words)>;

// Does every line of standard input, prints its answer, or "error: ...", and goes on. The first error of them all; a
// lost server ends it.
absl::Status RunCommands(absl::string_view address, const Command& command);

// The arguments of a program with verbs, one of which must be given. Nothing: they are right. Else the exit status, 0
// for --help and 2 for others, after saying why.
std::optional<int> Parse(CLI::App& app, int argc, char** argv);

// A program that serves, or asks what standard input says.
class ServiceProgram {
 public:
  ServiceProgram(std::string name, const std::string& description);
  // For options of its own.
  CLI::App& serve() { return *serve_; }
  // The exit status. `serve`: at that address.
  int Run(int argc, char** argv, const std::function<absl::Status(const std::string& address)>& serve,
          const Command& ask);

 private:
  const std::string name_;
  CLI::App app_;
  std::string address_;
  CLI::App* const serve_;
  CLI::App* const ask_;
};

// The exit status for `status`: 0, or 1 after saying why to standard error.
int ExitStatus(absl::string_view program, const absl::Status& status);

}  // namespace skein::examples

#endif  // SKEIN_EXAMPLES_RPC_PROGRAM_H_
