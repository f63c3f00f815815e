#include "absl/time/clock.h"
#include "bench/macro/load.h"
#include "bench/macro/schedule.h"

namespace skein::bench {

absl::Status CallOnce(Echo::Stub& stub, const Payload& request) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
  Payload reply;
  return Verify(stub.Call(&context, request, &reply), request, reply);
}

absl::StatusOr<Outcome> RunSync(const Stubs& stubs, const Load& load) {
  const Payload request = PayloadOf(load.bytes);
  const absl::Time start = absl::Now();
  return RunThreads(load, [&](int caller, Record& record) {
    Schedule schedule(load, start, load.callers, caller);
    for (size_t call = caller; record.status.ok(); call += load.callers) {
      const std::optional<absl::Time> since = schedule.Next();
      if (!since.has_value()) return;
      record.status = CallOnce(*stubs[call % stubs.size()], request);
      record.latencies.push_back(absl::Now() - *since);
    }
  });
}

}  // namespace skein::bench
