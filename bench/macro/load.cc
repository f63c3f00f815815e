#include "bench/macro/load.h"

#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace skein::bench {

Payload PayloadOf(size_t bytes) {
  Payload payload;
  payload.set_data(std::string(bytes, 'g'));
  return payload;
}

absl::Status Verify(const grpc::Status& status, const Payload& request, const Payload& reply) {
  if (!status.ok()) {
    return absl::UnavailableError(absl::StrCat("status ", status.error_code(), ": ", status.error_message()));
  }
  if (reply.data() != request.data()) return absl::DataLossError("the echo differs");
  return absl::OkStatus();
}

absl::StatusOr<Outcome> Merge(const std::vector<Record>& records, absl::Duration elapsed) {
  Outcome outcome;
  outcome.elapsed = elapsed;
  for (const Record& record : records) {
    if (!record.status.ok()) return record.status;
    outcome.latencies.insert(outcome.latencies.end(), record.latencies.begin(), record.latencies.end());
  }
  return outcome;
}

absl::StatusOr<Outcome> RunThreads(const Load& load, const std::function<void(int caller, Record&)>& body) {
  std::vector<Record> records(load.callers);
  std::vector<std::thread> threads;
  threads.reserve(records.size());
  const absl::Time start = absl::Now();
  for (int caller = 0; caller < load.callers; ++caller) {
    threads.emplace_back([&, caller] { body(caller, records[caller]); });
  }
  for (std::thread& thread : threads) thread.join();
  return Merge(records, absl::Now() - start);
}

Run* RunOf(absl::string_view style) {
  if (style == "sync") return RunSync;
  if (style == "callback") return RunCallback;
  if (style == "async") return RunAsync;
  return style == "stream" ? RunStream : nullptr;
}

}  // namespace skein::bench
