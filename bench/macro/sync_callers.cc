#include <thread>

#include "absl/time/clock.h"
#include "bench/macro/load.h"

namespace skein::bench {
namespace {

// When a caller's calls are due. A call that its predecessor has kept from being made in time has waited since it was
// due; one that this thread's own sleep has made late has not: that would be the clock's doing.
class Schedule {
 public:
  Schedule(const Load& load, int caller, absl::Time start)
      : interval_(load.rate > 0 ? absl::Seconds(load.callers / load.rate) : absl::ZeroDuration()),
        due_(start + interval_ * caller / load.callers) {}

  // Since when the next call waits, now that it can be made.
  absl::Time Next() {
    const absl::Time now = absl::Now();
    if (interval_ == absl::ZeroDuration()) return now;
    const absl::Time due = due_;
    due_ += interval_;
    if (due <= now) return due;
    absl::SleepFor(due - now);
    return absl::Now();
  }

 private:
  const absl::Duration interval_;
  absl::Time due_;
};

}  // namespace

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
    Schedule schedule(load, caller, start);
    for (absl::Time now = start; record.status.ok() && now < start + load.duration;) {
      const absl::Time since = schedule.Next();
      record.status = CallOnce(*stubs[caller % stubs.size()], request);
      now = absl::Now();
      record.latencies.push_back(now - since);
    }
  });
}

}  // namespace skein::bench
