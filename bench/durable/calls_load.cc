#include "bench/durable/calls_load.h"

#include <algorithm>
#include <exception>
#include <iostream>
#include <thread>

#include "absl/flags/flag.h"
#include "absl/strings/str_format.h"

ABSL_FLAG(bool, skein, false, "whether over Skein's shared memory; or else over TCP");
ABSL_FLAG(std::string, log, "", "the server's redo log; empty: calls are plain ones");
ABSL_FLAG(std::vector<std::string>, replicas, {},
          "addresses of the log's replicas; all logs have what is acknowledged");
ABSL_FLAG(int, callers, 1, "threads that call");
ABSL_FLAG(size_t, bytes, 64, "of a request and its reply");
ABSL_FLAG(absl::Duration, duration, absl::Seconds(1), "of the measurement");

namespace skein::bench {
namespace {

struct Record {
  CallTimes times;
  std::string error;
};

// One call at least: a thread may get its first turn behind the end.
void CallUntil(absl::Time end, Caller& caller, Record& record) {
  const std::string payload(absl::GetFlag(FLAGS_bytes), 'd');
  try {
    do {
      caller.Call(payload, record.times);
    } while (absl::Now() < end);
  } catch (const std::exception& error) {
    record.error = error.what();
  }
}

void Append(std::vector<absl::Duration>& to, const std::vector<absl::Duration>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

double Microseconds(std::vector<absl::Duration>& times, double fraction) {
  if (times.empty()) return 0;
  const auto at = static_cast<ptrdiff_t>(static_cast<double>(times.size() - 1) * fraction);
  std::nth_element(times.begin(), times.begin() + at, times.end());
  return absl::ToDoubleMicroseconds(times[at]);
}

void Print(CallTimes all, absl::Duration elapsed) {
  std::cout << absl::StreamFormat(R"({"calls_per_s": %.1f, "p50_us": %.2f, "p99_us": %.2f, )",
                                  static_cast<double>(all.replied.size()) / absl::ToDoubleSeconds(elapsed),
                                  Microseconds(all.replied, 0.5), Microseconds(all.replied, 0.99))
            << absl::StreamFormat(R"("persisted_p50_us": %.2f, "persisted_p99_us": %.2f, "level": "%s"})",
                                  Microseconds(all.persisted, 0.5), Microseconds(all.persisted, 0.99), all.level)
            << std::endl;
}

}  // namespace

int MeasureCalls(const std::function<std::unique_ptr<Caller>()>& make) {
  const absl::Duration duration = absl::GetFlag(FLAGS_duration);
  std::vector<std::unique_ptr<Caller>> callers(absl::GetFlag(FLAGS_callers));
  std::vector<Record> records(callers.size());
  for (std::unique_ptr<Caller>& caller : callers) {
    caller = make();
    Record warm;
    CallUntil(absl::Now() + duration / 20, *caller, warm);
  }
  std::vector<std::thread> threads;
  threads.reserve(callers.size());
  const absl::Time start = absl::Now();
  for (size_t i = 0; i < callers.size(); ++i) {
    threads.emplace_back([&, i] { CallUntil(start + duration, *callers[i], records[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  const absl::Duration elapsed = absl::Now() - start;
  CallTimes all;
  for (const Record& record : records) {
    if (!record.error.empty()) {
      std::cerr << "a caller has failed: " << record.error << std::endl;
      return 1;
    }
    Append(all.replied, record.times.replied);
    Append(all.persisted, record.times.persisted);
    all.level = record.times.level;
  }
  Print(std::move(all), elapsed);
  return 0;
}

}  // namespace skein::bench
