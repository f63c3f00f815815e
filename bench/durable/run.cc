// Senders in a closed loop, each with a connection and a core of the receiver that polls it.
#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/durable/ends.h"
#include "bench/durable/handlers.h"
#include "bench/durable/processor.h"
#include "bench/durable/scenario.h"
#include "core/fabric/sim/random.h"

namespace skein::bench::durable {
namespace {

struct Shared {
  Shared(const Scenario& of, const Costs& all)
      : scenario(of),
        costs(all),
        simulation(of.seed, all.nic),
        random(of.seed),
        zipfian(of.objects, of.skew),
        handlers(simulation, all.receiver_cores - of.senders) {}

  // Of the first tenth nothing is counted.
  bool measuring() const { return over > scenario.operations / 10; }
  void CountOver(bool write, absl::Time begun) {
    ++over;
    if (!measuring()) return;
    if (started == absl::InfinitePast()) started = simulation.now();
    const double latency = absl::ToDoubleMicroseconds(simulation.now() - begun);
    (write ? writes : reads).push_back(latency);
    all.push_back(latency);
  }
  bool enough() const { return over >= scenario.operations + scenario.operations / 10; }

  const Scenario& scenario;
  const Costs& costs;
  fabric::Simulation simulation;
  fabric::sim::Random random;
  const Zipfian zipfian;
  Handlers handlers;
  absl::Status status;
  uint64_t over = 0;
  absl::Time started = absl::InfinitePast();
  std::vector<double> all;
  std::vector<double> writes;
  std::vector<double> reads;
  std::vector<double> replies;
};

class Sender {
 public:
  Sender(Shared& shared, std::unique_ptr<SenderEnd> end)
      : shared_(shared), end_(std::move(end)), core_(shared.simulation) {
    Think();
  }

  // After each event: whatever has come, if the core is free to see it.
  void Turn() {
    if (core_.busy() || !shared_.status.ok()) return;
    absl::StatusOr<SenderEnd::News> news = end_->Poll();
    if (!news.ok()) return shared_.status.Update(news.status());
    if (news->cost > absl::ZeroDuration()) {
      core_.Run(news->cost, [this, news = *std::move(news)] { Take(news); });
    } else if (open_ == 0 && end_->HasRoom(shared_.scenario.batch)) {
      Think();
    }
  }

 private:
  struct Pending {
    Operation operation;
    absl::Time begun;
    bool over = false;
    bool replied = false;
  };

  absl::Duration Application() {
    return shared_.costs.cpu.application + shared_.random.Exponential(shared_.costs.cpu.noise);
  }
  void Think() {
    batch_.clear();
    absl::Duration cost;
    for (size_t i = 0; i < shared_.scenario.batch; ++i) {
      Operation& operation = batch_.emplace_back();
      operation.object = shared_.zipfian.Draw(shared_.random);
      operation.is_write = shared_.random.Next() % 100 >= shared_.scenario.read_percent ? 1 : 0;
      operation.object_bytes = shared_.scenario.object_bytes;
      cost += Application();
    }
    open_ = batch_.size();
    core_.Run(cost, [this] {
      for (const Operation& operation : batch_)
        pending_.push_back({.operation = operation, .begun = shared_.simulation.now()});
      core_.Run(end_->SendCost(batch_), [this] { shared_.status.Update(end_->Send(batch_)); });
    });
  }
  void Take(const SenderEnd::News& news) {
    for (; safe_ < news.safe_up_to; ++safe_) {
      Pending& pending = At(safe_ + 1);
      if (pending.operation.is_write != 0 && end_->early()) Over(pending);
    }
    for (const uint64_t number : news.replies) {
      Pending& pending = At(number);
      pending.replied = true;
      if (!pending.over) Over(pending);
      if (shared_.measuring()) {
        shared_.replies.push_back(absl::ToDoubleMicroseconds(shared_.simulation.now() - pending.begun));
      }
    }
    while (!pending_.empty() && pending_.front().over && pending_.front().replied && first_ <= safe_or_plain()) {
      pending_.pop_front();
      ++first_;
    }
  }
  uint64_t safe_or_plain() const { return end_->early() ? safe_ : ~uint64_t{0}; }
  Pending& At(uint64_t number) { return pending_[number - first_]; }
  void Over(Pending& pending) {
    if (pending.over) return;
    pending.over = true;
    --open_;
    shared_.CountOver(pending.operation.is_write != 0, pending.begun);
  }

  Shared& shared_;
  const std::unique_ptr<SenderEnd> end_;
  Core core_;
  std::vector<Operation> batch_;
  size_t open_ = 0;  // of the batch, those that are not over
  std::deque<Pending> pending_;
  uint64_t first_ = 1;  // the number of the first pending
  uint64_t safe_ = 0;
};

class Poller {
 public:
  Poller(Shared& shared, std::unique_ptr<ReceiverEnd> end)
      : shared_(shared), end_(std::move(end)), core_(shared.simulation) {}

  void Turn() {
    if (core_.busy() || !shared_.status.ok()) return;
    if (!executed_.empty()) return Finish();
    const absl::Duration cost = end_->TakeCost();
    if (cost > absl::ZeroDuration()) core_.Run(cost, [this] { Take(); });
  }

 private:
  void Take() {
    std::vector<ReceiverEnd::Request> requests;
    shared_.status.Update(end_->Take(requests));
    const Costs& costs = shared_.costs;
    absl::Duration inline_cost;
    std::vector<ReceiverEnd::Request> inlined;
    for (const ReceiverEnd::Request& request : requests) {
      const absl::Duration heavy = shared_.scenario.heavy ? costs.heavy_handler : absl::ZeroDuration();
      const absl::Duration cost = costs.cpu.handler + end_->ExecuteCost(request.operation) + heavy;
      if (cost > costs.worth_a_worker) {
        // To a worker and back: a line each way.
        core_.Owe(2 * costs.cpu.shared_line);
        shared_.handlers.Execute(request.operation, cost, [this, request] { executed_.push_back(request); });
      } else {
        inline_cost += cost;
        inlined.push_back(request);
      }
    }
    if (inline_cost > absl::ZeroDuration()) {
      core_.Run(inline_cost, [this, inlined = std::move(inlined)] {
        executed_.insert(executed_.end(), inlined.begin(), inlined.end());
      });
    }
  }
  void Finish() {
    std::vector<ReceiverEnd::Request> requests;
    requests.swap(executed_);
    const absl::Duration cost = end_->FinishCost(requests);
    core_.Run(cost, [this, requests = std::move(requests)] { shared_.status.Update(end_->Finish(requests)); });
  }

  Shared& shared_;
  const std::unique_ptr<ReceiverEnd> end_;
  Core core_;
  std::vector<ReceiverEnd::Request> executed_;
};

Latency Summary(std::vector<double>& values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto at = [&](double part) {
    return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
  };
  double sum = 0;
  for (const double value : values) sum += value;
  return {.p50_us = at(0.5), .p99_us = at(0.99), .mean_us = sum / static_cast<double>(values.size())};
}

}  // namespace

absl::StatusOr<Outcome> Run(const Scenario& scenario, const Costs& costs) {
  if (scenario.senders == 0 || scenario.senders >= costs.receiver_cores) {
    return absl::InvalidArgumentError(absl::StrCat(scenario.senders, " senders"));
  }
  Shared shared(scenario, costs);
  const auto receiving = shared.simulation.CreateDevice("receiver");
  std::vector<std::shared_ptr<fabric::Device>> devices;
  std::vector<std::unique_ptr<Sender>> senders;
  std::vector<std::unique_ptr<Poller>> pollers;
  for (size_t i = 0; i < scenario.senders; ++i) {
    devices.push_back(shared.simulation.CreateDevice(absl::StrCat("sender ", i)));
    auto connection = Connect(scenario.exchange, *devices.back(), *receiving,
                              {.object_bytes = scenario.object_bytes, .batch = scenario.batch}, costs);
    if (!connection.ok()) return connection.status();
    senders.push_back(std::make_unique<Sender>(shared, std::move(connection->sender)));
    pollers.push_back(std::make_unique<Poller>(shared, std::move(connection->receiver)));
  }
  while (!shared.enough() && shared.status.ok()) {
    if (!shared.simulation.Step()) return absl::DeadlineExceededError("everybody waits for something");
    for (const auto& sender : senders) sender->Turn();
    for (const auto& poller : pollers) poller->Turn();
  }
  if (!shared.status.ok()) return shared.status;
  Outcome outcome;
  outcome.operations_per_second =
      static_cast<double>(shared.all.size()) / absl::ToDoubleSeconds(shared.simulation.now() - shared.started);
  outcome.all = Summary(shared.all);
  outcome.write = Summary(shared.writes);
  outcome.read = Summary(shared.reads);
  outcome.reply = Summary(shared.replies);
  return outcome;
}

}  // namespace skein::bench::durable
