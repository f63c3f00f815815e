// counter_client ADDRESS CALLS [UNDER_WAY [JOURNAL]]: adds 1 so many times, with durable calls, so many under way at
// once (32). The server may be killed and come back as often as it likes. JOURNAL gets a line for each call that is
// persisted: how many have been started, and how many are persisted.
#include <grpcpp/grpcpp.h>
#include <skein/grpc.h>
#include <skein/grpc_durable.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "examples/counter/counter.grpc.pb.h"
#include "examples/usage.h"

namespace {

// All calls' state, under one lock.
struct Progress {
  std::mutex mu;
  std::condition_variable changed;
  FILE* journal = nullptr;
  int under_way = 0;
  int persisted = 0;
  int answered = 0;
  std::vector<int64_t> totals;  // by call
  std::string wrong;            // what must never be
};

struct AddCall {
  grpc::ClientContext context;
  counter::AddRequest request;
  counter::AddReply reply;
  size_t number = 0;
  bool persisted = false;
};

void OnReply(Progress& progress, const AddCall& call, const grpc::Status& status) {
  const std::lock_guard lock(progress.mu);
  --progress.under_way;
  ++progress.answered;
  if (!status.ok()) {
    progress.wrong = "a call failed with code " + std::to_string(status.error_code()) + ": " + status.error_message();
  } else if (!call.persisted) {
    progress.wrong = "answered before it was persisted";
  }
  progress.totals[call.number] = call.reply.total();
  progress.changed.notify_one();
}

void Start(counter::Counter::Stub& stub, Progress& progress, size_t number) {
  auto call = std::make_shared<AddCall>();
  call->request.set_amount(1);
  call->number = number;
  const skein::grpc_transport::DurableMark mark(call->context, [call, &progress](const auto& level) {
    const std::lock_guard lock(progress.mu);
    call->persisted = level.ok();
    if (!level.ok()) return;
    ++progress.persisted;
    if (progress.journal == nullptr) return;
    std::fprintf(progress.journal, "%d\n", progress.persisted);
    std::fflush(progress.journal);
  });
  stub.async()->Add(&call->context, &call->request, &call->reply,
                    [call, &progress](const grpc::Status& status) { OnReply(progress, *call, status); });
}

bool IsIncreasing(const std::vector<int64_t>& totals) {
  return std::adjacent_find(totals.begin(), totals.end(), std::greater_equal<>()) == totals.end();
}

int Count(const std::string& address, int calls, int most_under_way, FILE* journal) {
  grpc::ChannelArguments arguments;
  arguments.SetString("skein.mode", "prefer");
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  const auto channel =
      skein::grpc_transport::CreateDurableChannel(address, grpc::InsecureChannelCredentials(), arguments, {});
  if (!channel.ok()) {
    std::cerr << channel.status().message() << std::endl;
    return 1;
  }
  const auto stub = counter::Counter::NewStub(*channel);
  Progress progress;
  progress.journal = journal;
  progress.totals.resize(calls);
  std::unique_lock lock(progress.mu);
  for (int i = 0; i < calls && progress.wrong.empty(); ++i) {
    progress.changed.wait(lock, [&] { return progress.under_way < most_under_way; });
    ++progress.under_way;
    lock.unlock();
    Start(*stub, progress, i);
    lock.lock();
  }
  progress.changed.wait(lock, [&progress] { return progress.under_way == 0; });
  // Executed in their order, each once: other clients' come in between.
  if (progress.wrong.empty() && !IsIncreasing(progress.totals)) progress.wrong = "out of order, or twice";
  std::cout << progress.answered << " answered, " << progress.persisted << " persisted, total "
            << *std::max_element(progress.totals.begin(), progress.totals.end()) << std::endl;
  if (progress.wrong.empty()) return 0;
  std::cerr << progress.wrong << std::endl;
  return 1;
}

bool IsAboveZero(const char* word, int& number) { return absl::SimpleAtoi(word, &number) && number > 0; }

}  // namespace

int main(int argc, char** argv) {
  int calls = 0;
  int under_way = 32;
  if (argc < 3 || argc > 5 || !IsAboveZero(argv[2], calls) || (argc > 3 && !IsAboveZero(argv[3], under_way))) {
    return skein::examples::ShowUsage(argc, argv, "ADDRESS CALLS [UNDER_WAY [JOURNAL]]");
  }
  FILE* const journal = argc > 4 ? std::fopen(argv[4], "we") : nullptr;
  if (argc > 4 && journal == nullptr) {
    std::perror(argv[4]);
    return 1;
  }
  if (auto status = skein::grpc_transport::Init(); !status.ok()) std::cerr << status.message() << std::endl;
  return Count(argv[1], calls, under_way, journal);
}
