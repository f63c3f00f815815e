#include <algorithm>
#include <thread>

#include "bench/macro/crowd.h"
#include "bench/macro/load.h"

namespace skein::bench {
namespace {

class AsyncCaller final : public Caller {
 public:
  AsyncCaller(const Stubs& stubs, const Payload& request, grpc::CompletionQueue& queue)
      : Caller(stubs, request), queue_(queue) {}

 private:
  void Call(Echo::Stub& stub) override {
    reader_ = stub.AsyncCall(context_.get(), request_, &queue_);
    reader_->Finish(&reply_, &status_, static_cast<Caller*>(this));
  }

  grpc::CompletionQueue& queue_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Payload>> reader_;
};

void TellAnswers(grpc::CompletionQueue& queue, Crowd& crowd) {
  void* tag = nullptr;
  for (bool ok = false; queue.Next(&tag, &ok);) crowd.Answered(*static_cast<Caller*>(tag));
}

}  // namespace

absl::StatusOr<Outcome> RunAsync(const Stubs& stubs, const Load& load) {
  const Payload request = PayloadOf(load.bytes);
  // One caller would have two queues' threads wake each other.
  const size_t processors = std::max(1U, std::thread::hardware_concurrency());
  std::vector<grpc::CompletionQueue> queues(load.rate > 0 ? processors : std::min<size_t>(load.callers, processors));
  Crowd crowd(load, [&](size_t number) {
    return std::make_unique<AsyncCaller>(stubs, request, queues[number % queues.size()]);
  });
  std::vector<std::thread> threads;
  threads.reserve(queues.size());
  for (grpc::CompletionQueue& queue : queues) threads.emplace_back([&] { TellAnswers(queue, crowd); });
  absl::StatusOr<Outcome> outcome = crowd.Run();
  for (grpc::CompletionQueue& queue : queues) queue.Shutdown();
  for (std::thread& thread : threads) thread.join();
  return outcome;
}

}  // namespace skein::bench
