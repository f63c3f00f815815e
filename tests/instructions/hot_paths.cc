// One hot path under callgrind, as run_instructions.py asks:
//   hot_paths --list            the names
//   hot_paths --about           what decides the counts of this binary
//   hot_paths NAME              warms up, then dumps the counts of each of some rounds; prints operations of a round
// Exit status: 0, 1 failed, 2 called wrongly.
#include <gnu/libc-version.h>
#include <valgrind/callgrind.h>

#include <cstdio>
#include <string_view>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "tests/instructions/counted_clock.h"
#include "tests/instructions/hot_path.h"

namespace skein::instructions {
namespace {

constexpr int kRounds = 5;

std::vector<HotPath> All() {
  std::vector<HotPath> all;
  for (const auto& paths :
       {TracePaths, WirePaths, RingPaths, SchedulePaths, ServicePaths, StreamPaths, RpcPaths, ThriftPaths, GrpcPaths}) {
    for (HotPath& path : paths()) all.push_back(std::move(path));
  }
  return all;
}

int About() {
#if defined(__clang__) || !defined(__x86_64__)
  std::printf("another compiler or processor\n");
#else
  std::printf("g++ %d, glibc %s, x86-64\n", __GNUC__, gnu_get_libc_version());
#endif
  return 0;
}

void Round(const Operation& operation, int operations) {
  for (int i = 0; i < operations; ++i) operation();
}

int Count(const HotPath& path) {
  const Operation operation = path.begin();
  // Before the warm-up, which would find out, on a busy machine, that others want the processors.
  BeginCountedClock();
  Round(operation, 2 * path.operations);
  CALLGRIND_START_INSTRUMENTATION;
  Round(operation, path.operations);
  CALLGRIND_ZERO_STATS;
  for (int round = 0; round < kRounds; ++round) {
    Round(operation, path.operations);
    CALLGRIND_DUMP_STATS_AT("round");
  }
  CALLGRIND_STOP_INSTRUMENTATION;
  std::printf("%d\n", path.operations);
  return 0;
}

int Main(std::string_view what) {
  if (what == "--about") return About();
  // Abseil's search for deadlocks, which Debian's build has on, goes by addresses: what it costs differs from run to
  // run.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  for (const HotPath& path : All()) {
    if (what == "--list") std::puts(path.name);
    if (what == path.name) return Count(path);
  }
  return what == "--list" ? 0 : 2;
}

}  // namespace
}  // namespace skein::instructions

int main(int argc, char** argv) { return argc == 2 ? skein::instructions::Main(argv[1]) : 2; }
