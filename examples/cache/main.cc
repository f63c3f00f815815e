// A cache in another process, after memcached.
//   cache serve 127.0.0.1:7000 --memory 64M     (port 0: any; prints "serving at ADDRESS")
//   cache ask 127.0.0.1:7000                    (standard input: "set KEY VALUE [MS]", "get KEY", "delete KEY")
// Exit status: 0, 1 failed or not found, 2 called wrongly.
#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "examples/cache/cache.h"
#include "examples/cache/service.h"
#include "examples/rpc_program.h"

namespace skein::cache {
namespace {

absl::StatusOr<std::string> Ask(rpc::Connection& connection, const std::vector<std::string>& words) {
  const auto is = [&](absl::string_view verb, size_t least, size_t most) {
    return words[0] == verb && words.size() >= least && words.size() <= most;
  };
  uint32_t lifetime_ms = 0;
  if (is("get", 2, 2)) return connection.Call(kGet, words[1], examples::kPatience);
  if (is("delete", 2, 2)) {
    const absl::Status status = connection.Call(kDelete, words[1], examples::kPatience).status();
    return status.ok() ? absl::StatusOr<std::string>("deleted") : status;
  }
  if (is("set", 3, 4) && (words.size() == 3 || absl::SimpleAtoi(words[3], &lifetime_ms))) {
    const std::string request = SetRequest(words[1], words[2], lifetime_ms);
    const absl::Status status = connection.Call(kSet, request, examples::kPatience).status();
    return status.ok() ? absl::StatusOr<std::string>("set") : status;
  }
  return absl::InvalidArgumentError("there are: set KEY VALUE [MS], get KEY, delete KEY");
}

int Main(int argc, char** argv) {
  examples::ServiceProgram program("cache", "A cache in another process");
  size_t memory = 64 << 20;
  program.serve().add_option("--memory", memory, "bytes, 64M say")->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
  const auto serve = [&](const std::string& address) {
    Cache cache(memory);
    return examples::Serve(FunctionsOf(cache), address);
  };
  return program.Run(argc, argv, serve, Ask);
}

}  // namespace
}  // namespace skein::cache

int main(int argc, char** argv) { return skein::cache::Main(argc, argv); }
