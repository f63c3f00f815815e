#include "absl/time/clock.h"
#include "bench/macro/load.h"

namespace skein::bench {

absl::StatusOr<Outcome> RunStream(const Stubs& stubs, const Load& load) {
  const Payload request = PayloadOf(load.bytes);
  const absl::Time start = absl::Now();
  return RunThreads(load, [&](int caller, Record& record) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(start + load.duration + kCallDeadline));
    const auto stream = stubs[caller % stubs.size()]->Chat(&context);
    Payload reply;
    for (absl::Time now = start; now < start + load.duration && record.status.ok();) {
      const absl::Time sent = absl::Now();
      // A stream that has ended says why when it is finished.
      if (!stream->Write(request) || !stream->Read(&reply)) break;
      now = absl::Now();
      record.latencies.push_back(now - sent);
      record.status = Verify(grpc::Status::OK, request, reply);
    }
    stream->WritesDone();
    const grpc::Status status = stream->Finish();
    if (record.status.ok() && !record.latencies.empty()) record.status = Verify(status, request, reply);
    if (record.latencies.empty()) record.status = absl::UnavailableError(status.error_message());
  });
}

}  // namespace skein::bench
