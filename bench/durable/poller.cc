#include "bench/durable/poller.h"

#include <utility>

namespace skein::bench::durable {

void Poller::Turn() {
  if (core_.busy() || !measured_.status.ok()) return;
  if (!executed_.empty()) return Finish();
  const absl::Duration cost = end_->TakeCost();
  if (cost > absl::ZeroDuration()) core_.Run(cost, [this, cost] { Take(cost); });
}

void Poller::Take(absl::Duration taking) {
  std::vector<ReceiverEnd::Request> requests;
  measured_.status.Update(end_->Take(requests));
  const Costs& costs = measured_.costs;
  absl::Duration inline_cost;
  std::vector<ReceiverEnd::Request> inlined;
  for (const ReceiverEnd::Request& request : requests) {
    const absl::Duration heavy = measured_.scenario.heavy ? costs.heavy_handler : absl::ZeroDuration();
    const absl::Duration cost = costs.cpu.handler + end_->ExecuteCost(request.operation) + heavy;
    times_[request.number] = {.taken = taking, .executed = cost};
    if (cost > costs.worth_a_worker) {
      // To a worker and back: a line each way.
      core_.Owe(2 * costs.cpu.shared_line);
      measured_.handlers.Execute(request.operation, cost, [this, request] { executed_.push_back(request); });
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

void Poller::Finish() {
  std::vector<ReceiverEnd::Request> requests;
  requests.swap(executed_);
  const absl::Duration cost = end_->FinishCost(requests);
  for (const ReceiverEnd::Request& request : requests) times_[request.number].executed += cost;
  core_.Run(cost, [this, requests = std::move(requests)] { measured_.status.Update(end_->Finish(requests)); });
}

}  // namespace skein::bench::durable
