// A server that has one word for its clients, and a client that swaps it until that fails.
//
//   swap_loop serve           prints its address
//   swap_loop swap ADDRESS    prints "swapping" once it does so, and then the error
#include <skein/rpc.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace {

constexpr uint32_t kRegion = 1;
constexpr size_t kRegionBytes = 4096;
constexpr absl::Duration kPatience = absl::Seconds(30);

void Print(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

int Serve() {
  skein::rpc::Server server({});
  const auto memory = server.Attach(kRegion, kRegionBytes, skein::rpc::kRemoteAtomic);
  if (!memory.ok()) return Fail(memory.status());
  const absl::StatusOr<std::string> address = server.Listen("127.0.0.1:0");
  if (!address.ok()) return Fail(address.status());
  Print(*address);
  return Fail(server.Serve());
}

int Swap(const std::string& address) {
  skein::rpc::Client client({});
  const auto connection = client.Connect(address, kPatience);
  if (!connection.ok()) return Fail(connection.status());
  const auto region = (*connection)->Attach(kRegion, kPatience);
  if (!region.ok()) return Fail(region.status());
  for (uint64_t value = 0;; ++value) {
    const absl::StatusOr<uint64_t> old = (*connection)->CompareSwap(*region, 0, value, value + 1);
    if (!old.ok()) {
      Print(old.status().ToString());
      return 0;
    }
    if (value == 0) Print("swapping");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "serve" && argc == 2) return Serve();
  if (role == "swap" && argc == 3) return Swap(argv[2]);
  std::fputs("swap_loop serve | swap ADDRESS\n", stderr);
  return 2;
}
