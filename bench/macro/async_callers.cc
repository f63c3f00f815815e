#include <algorithm>
#include <thread>

#include "absl/time/clock.h"
#include "bench/macro/load.h"

namespace skein::bench {
namespace {

// One call after the other by a completion queue whose thread it belongs to.
class Caller {
 public:
  Caller(Echo::Stub& stub, const Payload& request, Record& record, grpc::CompletionQueue& queue)
      : stub_(stub), request_(request), record_(record), queue_(queue) {}

  void Start() {
    context_ = std::make_unique<grpc::ClientContext>();
    start_ = absl::Now();
    context_->set_deadline(absl::ToChronoTime(start_ + kCallDeadline));
    reader_ = stub_.AsyncCall(context_.get(), request_, &queue_);
    reader_->Finish(&reply_, &status_, this);
  }
  // True: it may go on.
  bool Answered() {
    record_.latencies.push_back(absl::Now() - start_);
    record_.status = Verify(status_, request_, reply_);
    return record_.status.ok();
  }

 private:
  Echo::Stub& stub_;
  const Payload& request_;
  Record& record_;
  grpc::CompletionQueue& queue_;
  absl::Time start_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Payload>> reader_;
  Payload reply_;
  grpc::Status status_;
};

void Drive(grpc::CompletionQueue& queue, std::vector<std::unique_ptr<Caller>>& callers, absl::Time end) {
  for (const std::unique_ptr<Caller>& caller : callers) caller->Start();
  void* tag = nullptr;
  bool ok = false;
  for (size_t left = callers.size(); left > 0 && queue.Next(&tag, &ok);) {
    auto* const caller = static_cast<Caller*>(tag);
    if (caller->Answered() && absl::Now() < end) {
      caller->Start();
    } else {
      --left;
    }
  }
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
}

}  // namespace

absl::StatusOr<Outcome> RunAsync(const Stubs& stubs, const Load& load) {
  const Payload request = PayloadOf(load.bytes);
  std::vector<Record> records(load.callers);
  const size_t queues = std::min<size_t>(records.size(), std::max(1U, std::thread::hardware_concurrency()));
  const absl::Time start = absl::Now();
  std::vector<std::thread> threads;
  for (size_t number = 0; number < queues; ++number) {
    threads.emplace_back([&, number] {
      grpc::CompletionQueue queue;
      std::vector<std::unique_ptr<Caller>> callers;
      for (size_t i = number; i < records.size(); i += queues) {
        callers.push_back(std::make_unique<Caller>(*stubs[i % stubs.size()], request, records[i], queue));
      }
      Drive(queue, callers, start + load.duration);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return Merge(records, absl::Now() - start);
}

}  // namespace skein::bench
