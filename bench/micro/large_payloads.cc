// What pulling large payloads gives, against sending them through the ring. Lines of JSON, one for each size and way,
// of the simulated network's time, which is always the same. `us`: of one message; `small_us`: the 99th percentile of
// 64 bytes while messages of that size follow each other.
#include <iostream>

#include "absl/strings/str_format.h"
#include "tests/unit/stream/beside_a_transfer.h"

namespace skein::bench {
namespace {

constexpr size_t kSmall = 64;

void Simulate(absl::string_view way, int64_t large_payload, size_t bytes) {
  const auto run = [&](size_t messages, size_t transfer) {
    return stream::TransferOnSim(large_payload, bytes).Run(messages, transfer);
  };
  std::cout << absl::StrFormat(R"({"way": "%s", "bytes": %d, "us": %.2f, "small_us": %.2f})", way, bytes,
                               absl::ToDoubleMicroseconds(run(1, bytes).transfer),
                               absl::ToDoubleMicroseconds(run(250, 16 << 20).p99))
            << std::endl;
}

void Main() {
  for (const size_t kib : {16, 32, 64, 128, 256, 512, 1024}) {
    Simulate("ring", 0, kib << 10);
    Simulate("pull", kSmall + 1, kib << 10);
  }
}

}  // namespace
}  // namespace skein::bench

int main() { skein::bench::Main(); }
