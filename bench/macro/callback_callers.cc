#include "absl/synchronization/blocking_counter.h"
#include "absl/time/clock.h"
#include "bench/macro/load.h"

namespace skein::bench {
namespace {

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

absl::StatusOr<Outcome> RunCallback(const Stubs& stubs, const Load& load) {
  const Payload request = PayloadOf(load.bytes);
  std::vector<Record> records(load.callers);
  std::vector<std::unique_ptr<Chain>> chains;
  chains.reserve(records.size());
  absl::BlockingCounter done(load.callers);
  const absl::Time start = absl::Now();
  for (Record& record : records) {
    Echo::Stub& stub = *stubs[chains.size() % stubs.size()];
    chains.push_back(std::make_unique<Chain>(stub, request, start + load.duration, record, done));
  }
  for (const std::unique_ptr<Chain>& chain : chains) chain->Next();
  done.Wait();
  return Merge(records, absl::Now() - start);
}

}  // namespace skein::bench
