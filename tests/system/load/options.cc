#include "tests/system/load/options.h"

#include <chrono>
#include <cmath>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"

ABSL_FLAG(std::string, serve, "", "makes it a server: its address, HOST:PORT; port 0: any");
ABSL_FLAG(std::vector<std::string>, targets, {}, "makes it a client: the servers' addresses");
ABSL_FLAG(std::string, mode, "require", "of Skein: off, prefer or require; gRPC: or stock, which is without it");
ABSL_FLAG(int, threads, 3, "that call each server");
ABSL_FLAG(int, calls_each, 1000, "of a connection; then there is another one");
ABSL_FLAG(int, connections, 0, "of a thread, one after the other; 0: until the input ends");
ABSL_FLAG(int, kept, 0, "connections of a thread that stay open, silent, when they have had their calls");
ABSL_FLAG(absl::Duration, deadline, absl::Seconds(2), "of a call");
ABSL_FLAG(absl::Duration, connecting, absl::Seconds(1), "that gRPC gives an attempt to connect, at least");
ABSL_FLAG(double, hurried, 0.05, "share of calls that have 5 ms");
ABSL_FLAG(uint32_t, most_bytes, 1 << 20, "of a message");

namespace skein::load {

Address AddressOf(absl::string_view text) {
  const size_t colon = text.rfind(':');
  Address address;
  if (colon == absl::string_view::npos || !absl::SimpleAtoi(text.substr(colon + 1), &address.port)) return address;
  address.host = std::string(text.substr(0, colon));
  return address;
}

absl::Duration Elapsed() { return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch()); }

uint32_t AnySize(absl::BitGen& random) {
  return static_cast<uint32_t>(std::exp(absl::Uniform(random, 0.0, std::log(absl::GetFlag(FLAGS_most_bytes)))));
}

}  // namespace skein::load
