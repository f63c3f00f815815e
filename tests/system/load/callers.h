// The threads of a client that call, until they are told to end.
#ifndef SKEIN_TESTS_LOAD_CALLERS_H_
#define SKEIN_TESTS_LOAD_CALLERS_H_

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "tests/system/load/options.h"
#include "tests/system/load/tally.h"

namespace skein::load {

// Connections of a thread that have had their calls: the last --kept stay open.
template <typename Connection>
class Kept {
 public:
  void Add(std::shared_ptr<Connection> connection) {
    connections_.push_back(std::move(connection));
    if (connections_.size() > static_cast<size_t>(absl::GetFlag(FLAGS_kept))) connections_.pop_front();
  }
  size_t size() const { return connections_.size(); }

 private:
  std::deque<std::shared_ptr<Connection>> connections_;
};

// One thread's calls to one server, until they are to end.
using CallUntil = std::function<void(const std::string& target, Tally& tally, const std::atomic<bool>& ended)>;

// Calls every one of --targets by --threads threads until the standard input ends. Prints a list of the targets'
// reports (tally.h) for each line of it, and at the end. The line "fork WAY" is answered by what became of a child that
// was to end by WAY (exec, _exit, exit), or an empty line; "heap" by heap.h's report. With --connections nobody
// listens: the list comes when all threads have had so many. Returns the exit status.
int RunCallers(const CallUntil& call_until);

}  // namespace skein::load

#endif  // SKEIN_TESTS_LOAD_CALLERS_H_
