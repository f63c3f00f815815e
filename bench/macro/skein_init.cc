#include <skein/grpc.h>

#include <cstdlib>
#include <iostream>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "bench/macro/init.h"

namespace skein::bench {
namespace {

// The telling thread's until there is none.
std::vector<absl::Duration> sums;

}  // namespace

void InitTransport() {
  const absl::Status status = skein::grpc_transport::Init();
  if (status.ok()) return;
  std::cerr << "Init: " << status << std::endl;
  std::exit(3);
}

void BeginStages() {
  if (std::getenv("BENCH_STAGES") == nullptr) return;
  const absl::Status status = grpc_transport::TraceCalls(1, [](const TracedCall& call) {
    if (call.client && !call.intervals.empty())
      sums.push_back(absl::FromChrono(call.intervals.back().begin + call.intervals.back().length));
  });
  if (!status.ok()) std::cerr << "TraceCalls: " << status << std::endl;
}

std::vector<absl::Duration> EndStages() {
  grpc_transport::TraceCalls(0, nullptr).IgnoreError();  // which cannot fail
  return std::exchange(sums, {});
}

const char* SkeinMode() { return "prefer"; }

}  // namespace skein::bench
