// What processor time a process has taken.
#ifndef SKEIN_BENCH_PROCESSOR_TIME_H_
#define SKEIN_BENCH_PROCESSOR_TIME_H_

#include <sys/types.h>

#include <ctime>
#include <optional>

namespace skein::bench {

// Seconds of all threads of `process` so far; nothing once it has ended. In /proc it is rounded to ticks, of which an
// idle process may not use one.
inline std::optional<double> ProcessorSeconds(pid_t process) {
  clockid_t clock;
  timespec time = {};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return std::nullopt;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace skein::bench

#endif  // SKEIN_BENCH_PROCESSOR_TIME_H_
