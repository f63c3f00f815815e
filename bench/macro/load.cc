#include "bench/macro/load.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/time/clock.h"

namespace skein::bench {
namespace {

constexpr absl::Duration kCallDeadline = absl::Seconds(20);

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

// What one caller has seen. Callers share nothing while they run.
struct Record {
  std::vector<absl::Duration> latencies;
  absl::Status status;
};

absl::StatusOr<Outcome> Merge(const std::vector<Record>& records, absl::Duration elapsed) {
  Outcome outcome;
  outcome.elapsed = elapsed;
  for (const Record& record : records) {
    if (!record.status.ok()) return record.status;
    outcome.latencies.insert(outcome.latencies.end(), record.latencies.begin(), record.latencies.end());
  }
  std::sort(outcome.latencies.begin(), outcome.latencies.end());
  return outcome;
}

// Calls again from each call's callback until the end. `done` is told once, last.
class Chain {
 public:
  Chain(Echo::Stub& stub, const Payload& request, absl::Time end, Record& record, absl::BlockingCounter& done)
      : stub_(stub), request_(request), end_(end), record_(record), done_(done) {}

  void Next() {
    context_ = std::make_unique<grpc::ClientContext>();
    start_ = absl::Now();
    context_->set_deadline(absl::ToChronoTime(start_ + kCallDeadline));
    stub_.async()->Call(context_.get(), &request_, &reply_, [this](const grpc::Status& status) { Answered(status); });
  }

 private:
  void Answered(const grpc::Status& status) {
    const absl::Time now = absl::Now();
    record_.latencies.push_back(now - start_);
    record_.status = Verify(status, request_, reply_);
    if (record_.status.ok() && now < end_) {
      Next();
    } else {
      done_.DecrementCount();
    }
  }

  Echo::Stub& stub_;
  const Payload& request_;
  const absl::Time end_;
  Record& record_;
  absl::BlockingCounter& done_;
  absl::Time start_;
  std::unique_ptr<grpc::ClientContext> context_;
  Payload reply_;
};

}  // namespace

absl::Status CallOnce(Echo::Stub& stub, const Payload& request) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
  Payload reply;
  return Verify(stub.Call(&context, request, &reply), request, reply);
}

absl::StatusOr<Outcome> RunSync(Echo::Stub& stub, const Load& load) {
  const Payload request = PayloadOf(load.bytes);
  std::vector<Record> records(load.callers);
  std::vector<std::thread> threads;
  threads.reserve(records.size());
  const absl::Time start = absl::Now();
  for (Record& record : records) {
    threads.emplace_back([&] {
      for (absl::Time now = start; record.status.ok() && now < start + load.duration;) {
        record.status = CallOnce(stub, request);
        const absl::Time answered = absl::Now();
        record.latencies.push_back(answered - now);
        now = answered;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return Merge(records, absl::Now() - start);
}

absl::StatusOr<Outcome> RunCallback(Echo::Stub& stub, const Load& load) {
  const Payload request = PayloadOf(load.bytes);
  std::vector<Record> records(load.callers);
  std::vector<std::unique_ptr<Chain>> chains;
  chains.reserve(records.size());
  absl::BlockingCounter done(load.callers);
  const absl::Time start = absl::Now();
  for (Record& record : records) {
    chains.push_back(std::make_unique<Chain>(stub, request, start + load.duration, record, done));
  }
  for (const std::unique_ptr<Chain>& chain : chains) chain->Next();
  done.Wait();
  return Merge(records, absl::Now() - start);
}

absl::Duration Percentile(const Outcome& outcome, double fraction) {
  if (outcome.latencies.empty()) return absl::InfiniteDuration();
  const auto last = static_cast<double>(outcome.latencies.size() - 1);
  return outcome.latencies[static_cast<size_t>(last * fraction)];
}

}  // namespace skein::bench
