#include "tests/system/load/callers.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "tests/system/load/heap.h"
#include "tests/system/load/options.h"

namespace skein::load {
namespace {

void Print(std::deque<Tally>& tallies) {
  std::vector<std::string> reports;
  for (Tally& tally : tallies) reports.push_back(tally.Report());
  std::cout << "[" << absl::StrJoin(reports, ", ") << "]" << std::endl;
}

// A child that only ends, one way or another. What has come of it, if not that.
std::string Fork(absl::string_view way) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);  // one that hangs ends by a signal
    if (way == "exec") execl("/bin/true", "true", nullptr);
    if (way == "exit") std::exit(0);  // as by return from main
    _exit(way == "_exit" ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return "fork() failed";
  if (WIFSIGNALED(status)) return absl::StrCat("a forked child ended by signal ", WTERMSIG(status));
  return status == 0 ? "" : absl::StrCat("a forked child ended with ", WEXITSTATUS(status));
}

void AnswerUntilEnd(std::deque<Tally>& tallies) {
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "heap") {
      std::cout << HeapReport() << std::endl;
      continue;
    }
    absl::string_view way = line;
    if (absl::ConsumePrefix(&way, "fork ")) {
      std::cout << Fork(way) << std::endl;
      continue;
    }
    Print(tallies);
  }
}

}  // namespace

int RunCallers(const CallUntil& call_until) {
  std::atomic<bool> ended = false;
  std::deque<Tally> tallies;
  std::vector<std::thread> threads;
  for (const std::string& target : absl::GetFlag(FLAGS_targets)) {
    Tally& tally = tallies.emplace_back();
    for (int i = 0; i < absl::GetFlag(FLAGS_threads); ++i) {
      threads.emplace_back([&call_until, &tally, &ended, target] { call_until(target, tally, ended); });
    }
  }
  if (absl::GetFlag(FLAGS_connections) == 0) {
    AnswerUntilEnd(tallies);
    ended = true;
  }
  for (std::thread& thread : threads) thread.join();
  Print(tallies);
  return 0;
}

}  // namespace skein::load
