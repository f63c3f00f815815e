#include "absl/time/clock.h"
#include "bench/macro/load.h"
#include "bench/macro/schedule.h"

namespace skein::bench {
namespace {

using Stream = grpc::ClientReaderWriter<Payload, Payload>;

// Messages there and back until the load is over, the stream has ended or an echo differs.
void Converse(Stream& stream, const Payload& request, Schedule schedule, Record& record) {
  Payload reply;
  while (record.status.ok()) {
    const std::optional<absl::Time> since = schedule.Next();
    if (!since.has_value()) return;
    if (!stream.Write(request) || !stream.Read(&reply)) {
      record.status = absl::UnavailableError("the stream ended early");
      return;
    }
    record.latencies.push_back(absl::Now() - *since);
    record.status = Verify(grpc::Status::OK, request, reply);
  }
}

}  // namespace

absl::StatusOr<Outcome> RunStream(const Stubs& stubs, const Load& load) {
  const Payload request = PayloadOf(load.bytes);
  const absl::Time start = absl::Now();
  return RunThreads(load, [&](int caller, Record& record) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(start + load.duration + kCallDeadline));
    const std::unique_ptr<Stream> stream = stubs[caller % stubs.size()]->Chat(&context);
    Converse(*stream, request, Schedule(load, start, load.callers, caller), record);
    stream->WritesDone();
    // A stream says why it ended only now.
    const grpc::Status status = stream->Finish();
    if (!status.ok()) record.status = Verify(status, request, request);
  });
}

}  // namespace skein::bench
