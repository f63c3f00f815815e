// A path that every message, call or connection takes, as one operation that can be repeated on one thread.
#ifndef SKEIN_TESTS_INSTRUCTIONS_HOT_PATH_H_
#define SKEIN_TESTS_INSTRUCTIONS_HOT_PATH_H_

#include <functional>
#include <vector>

#include "tests/support/require.h"

namespace skein::instructions {

using skein::Require;  // an operation that failed would be counted as a cheap one

using Operation = std::function<void()>;

struct HotPath {
  const char* name;
  int operations;                    // of a round: what happens at every 16th or 256th has its part in each
  std::function<Operation()> begin;  // not counted: both ends are made and meet
};

// By the layer that they begin in.
std::vector<HotPath> TracePaths();
std::vector<HotPath> WirePaths();
std::vector<HotPath> RingPaths();
std::vector<HotPath> SchedulePaths();
std::vector<HotPath> ServicePaths();
std::vector<HotPath> StreamPaths();
std::vector<HotPath> RpcPaths();
std::vector<HotPath> ThriftPaths();
std::vector<HotPath> GrpcPaths();

}  // namespace skein::instructions

#endif  // SKEIN_TESTS_INSTRUCTIONS_HOT_PATH_H_
