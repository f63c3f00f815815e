// An ordered index in another process.
//   ordered_index serve 127.0.0.1:7000 --max 1000000      (port 0: any; prints "serving at ADDRESS")
//   ordered_index ask 127.0.0.1:7000                       (standard input: "put KEY VALUE", "get KEY",
//                                                           "scan FROM LIMIT", "count FROM LIMIT")
// Exit status: 0, 1 failed or not found, 2 called wrongly.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "examples/ordered_index/index.h"
#include "examples/rpc_program.h"

namespace skein::ordered_index {
namespace {

absl::StatusOr<std::string> AskFor(rpc::Connection& connection, Call call, absl::string_view request) {
  absl::StatusOr<std::string> reply = connection.Call(call, request, examples::kPatience);
  if (!reply.ok() || call == kPut) return reply.ok() ? absl::StatusOr<std::string>("put") : reply;
  if (call == kScan) {
    const absl::StatusOr<std::vector<Entry>> entries = EntriesOf(*reply);
    if (!entries.ok()) return entries.status();
    return absl::StrJoin(*entries, " ", absl::PairFormatter("="));
  }
  const absl::StatusOr<std::vector<uint64_t>> number = WordsOf(*reply, 1);
  if (!number.ok()) return number.status();
  return absl::StrCat((*number)[0]);
}

absl::StatusOr<std::string> Ask(rpc::Connection& connection, const std::vector<std::string>& words) {
  uint64_t first = 0;
  uint64_t second = 0;
  const bool one = words.size() == 2 && absl::SimpleAtoi(words[1], &first);
  const bool two = words.size() == 3 && absl::SimpleAtoi(words[1], &first) && absl::SimpleAtoi(words[2], &second);
  if (one && words[0] == "get") return AskFor(connection, kGet, Request({first}));
  if (two && words[0] == "put") return AskFor(connection, kPut, Request({first, second}));
  if (two && words[0] == "scan") return AskFor(connection, kScan, Request({first, second}));
  if (two && words[0] == "count") return AskFor(connection, kCount, Request({first, second}));
  return absl::InvalidArgumentError("there are: put KEY VALUE, get KEY, scan FROM LIMIT, count FROM LIMIT");
}

int Main(int argc, char** argv) {
  examples::ServiceProgram program("ordered_index", "An ordered index in another process");
  size_t max = 1'000'000;
  program.serve().add_option("--max", max, "keys that it holds");
  const auto serve = [&](const std::string& address) {
    Index index(max);
    return examples::Serve(FunctionsOf(index), address);
  };
  return program.Run(argc, argv, serve, Ask);
}

}  // namespace
}  // namespace skein::ordered_index

int main(int argc, char** argv) { return skein::ordered_index::Main(argc, argv); }
