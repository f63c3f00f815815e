#include "bench/apps/transactions.h"

#include <deque>
#include <string>
#include <utility>

#include "examples/transactions/coordinator.h"
#include "examples/transactions/store.h"
#include "examples/transactions/workload.h"

namespace skein::bench {
namespace {

transactions::Layout LayoutOf(const LoadOptions& options, const transactions::Workload& workload) {
  return {workload.keys(), options.servers, options.servers};
}

// A coordinator's way to a server, over a path's.
class OverPath final : public transactions::Channel {
 public:
  explicit OverPath(std::unique_ptr<bench::Channel> channel) : channel_(std::move(channel)) {}

  void Start(absl::Span<const Call> calls) override {
    calls_.clear();
    for (const Call& call : calls) calls_.push_back({call.function, call.bytes});
    started_ = channel_->Start(calls_);
  }
  absl::StatusOr<std::string> Finish() override {
    if (!started_.ok()) return started_;
    const absl::StatusOr<absl::string_view> answer = channel_->Finish();
    if (!answer.ok()) return answer.status();
    return std::string(*answer);
  }
  absl::StatusOr<uint64_t> ReadWord(uint64_t place) override { return channel_->ReadWord(place); }

 private:
  const std::unique_ptr<bench::Channel> channel_;
  std::vector<bench::Channel::Call> calls_;
  absl::Status started_;
};

struct Progress {
  const transactions::Workload& workload;
  const Stopwatch stopwatch;
  size_t counted = 0;
  transactions::Tally tally = {};
  std::vector<int64_t>& latencies;
};

transactions::Task<absl::Status> Repeat(transactions::Coordinator& coordinator, transactions::Random& random,
                                        Progress& progress) {
  while (!progress.stopwatch.IsOver(progress.counted)) {
    const int64_t begun = absl::GetCurrentTimeNanos();
    const absl::Status status = co_await transactions::Transact(coordinator, progress.workload, random,
                                                                absl::InfiniteDuration(), progress.tally);
    if (!status.ok()) co_return status;
    if (!progress.stopwatch.Counts(begun)) continue;
    progress.latencies.push_back(absl::GetCurrentTimeNanos() - begun);
    ++progress.counted;
  }
  co_return absl::OkStatus();
}

}  // namespace

Service TransactionService(const LoadOptions& options, size_t server) {
  const transactions::Workload* const workload =
      transactions::MakeWorkload(options.operation, options.size).release();  // as long as the process
  const transactions::Layout layout = LayoutOf(options, *workload);
  const auto functions = [=](absl::Span<std::byte> memory) {
    auto* const store = new transactions::Store(layout, server);
    const auto initial = [workload](uint64_t key) { return workload->Initial(key); };
    store->Hold(server, memory, initial);
    for (size_t partition = 0; partition < layout.servers; ++partition) {
      if (partition == server) continue;
      auto* const items = new std::vector<transactions::Item>(layout.ItemsOf(partition));
      store->Hold(partition, {reinterpret_cast<std::byte*>(items->data()), items->size() * sizeof(transactions::Item)},
                  initial);
    }
    return FunctionsOf(*store);
  };
  return {layout.ItemsOf(server) * sizeof(transactions::Item), functions};
}

// Each waits for a step's, and a step has at most one for each copy.
size_t TransactionWindow(const LoadOptions& options, size_t coroutines) { return coroutines * options.servers; }

void WorkTransactions(std::vector<std::unique_ptr<Channel>> servers, const LoadOptions& options, uint32_t seed,
                      size_t coroutines, double seconds, Measured& measured) {
  const std::unique_ptr<transactions::Workload> workload = transactions::MakeWorkload(options.operation, options.size);
  const bool one_sided = servers[0]->ReadWord(0).ok();
  std::vector<std::unique_ptr<transactions::Channel>> channels;
  for (auto& server : servers) channels.push_back(std::make_unique<OverPath>(std::move(server)));
  transactions::Coordinator coordinator(LayoutOf(options, *workload), std::move(channels), one_sided);
  measured.latencies.resize(1);
  Progress progress = {.workload = *workload, .stopwatch = Stopwatch(seconds), .latencies = measured.latencies[0]};
  std::deque<transactions::Random> randoms;
  std::vector<transactions::Task<absl::Status>> tasks;
  for (size_t i = 0; i < coroutines; ++i) {
    const auto its_seed = static_cast<uint32_t>(seed * coroutines + i + 1);
    tasks.push_back(Repeat(coordinator, randoms.emplace_back(its_seed), progress));
  }
  measured.status = coordinator.Run(tasks);
  measured.steps_per_s = progress.stopwatch.RateOf(progress.counted);
}

}  // namespace skein::bench
