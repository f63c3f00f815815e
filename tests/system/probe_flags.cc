#include "tests/system/probe_flags.h"

#include <google/protobuf/util/json_util.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

ABSL_FLAG(std::vector<std::string>, arguments, {}, "channel arguments, name=value[,name=value]");

ABSL_FLAG(bool, forked, false, "fork once all is initialised, and go on in the child");

namespace skein::probe {

void ForkIfAsked() {
  if (!absl::GetFlag(FLAGS_forked)) return;
  const pid_t child = fork();
  if (child == 0) return;
  int status = 0;
  waitpid(child, &status, 0);
  std::_Exit(status == 0 ? 0 : 1);
}

std::vector<Argument> Arguments() {
  std::vector<Argument> arguments;
  for (const std::string& text : absl::GetFlag(FLAGS_arguments)) {
    const std::pair<std::string, std::string> pair = absl::StrSplit(text, absl::MaxSplits('=', 1));
    int number = 0;
    if (absl::SimpleAtoi(pair.second, &number)) {
      arguments.push_back({pair.first, number});
    } else {
      arguments.push_back({pair.first, pair.second});
    }
  }
  return arguments;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> AuthProperties(const grpc::AuthContext* context) {
  std::vector<std::string> properties;
  if (context == nullptr) return {"no context"};
  for (auto it = context->begin(); it != context->end(); ++it) {
    const auto [name, value] = *it;
    properties.push_back(
        absl::StrCat(absl::string_view(name.data(), name.size()), "=", absl::string_view(value.data(), value.size())));
  }
  std::sort(properties.begin(), properties.end());
  return properties;
}

absl::string_view StatusCodeName(grpc::StatusCode code) {
  static constexpr absl::string_view kNames[] = {
      "OK",        "CANCELLED",       "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS",  "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",    "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED",
  };
  const auto index = static_cast<size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "?";
}

namespace {

Report Become(const std::string& user) {
  Report report;
  uid_t id = 0;
  if (!absl::SimpleAtoi(user, &id) || setgid(id) != 0 || setuid(id) != 0) report.set_message("cannot become " + user);
  return report;
}

// Zeros and empty strings, too. Protocol Buffers have given the option another name.
template <typename Options>
void PrintAll(Options& options) {
  if constexpr (requires { options.always_print_fields_with_no_presence; }) {
    options.always_print_fields_with_no_presence = true;
  } else {
    options.always_print_primitive_fields = true;
  }
}

}  // namespace

void ServeCommands(const std::function<Report(const std::vector<std::string>& words)>& run) {
  google::protobuf::util::JsonPrintOptions options;
  PrintAll(options);
  options.preserve_proto_field_names = true;
  for (std::string line; std::getline(std::cin, line);) {
    std::string json;
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    const bool becomes = words[0] == "become" && words.size() == 2;
    (void)google::protobuf::util::MessageToJsonString(becomes ? Become(words[1]) : run(words), &json, options);
    std::cout << json << std::endl;
  }
}

}  // namespace skein::probe
