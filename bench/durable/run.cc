// Senders in a closed loop, each with a connection and a core of the receiver that polls it.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/durable/background.h"
#include "bench/durable/ends.h"
#include "bench/durable/measured.h"
#include "bench/durable/poller.h"
#include "bench/durable/scenario.h"
#include "bench/durable/sender.h"

namespace skein::bench::durable {
namespace {

class Cluster {
 public:
  Cluster(const Scenario& scenario, const Costs& costs)
      : measured_(scenario, costs), receiving_(measured_.simulation.CreateDevice("receiver")) {}

  absl::Status Connect();
  absl::StatusOr<Outcome> Run();

 private:
  struct Pair {
    std::shared_ptr<fabric::Device> device;
    std::unique_ptr<ReceiverTimes> times;
    std::unique_ptr<Poller> poller;
    std::unique_ptr<Sender> sender;
  };

  absl::Status AddSender(size_t number);
  bool done() const;

  Measured measured_;
  const std::shared_ptr<fabric::Device> receiving_;
  std::vector<Pair> pairs_;
  std::unique_ptr<Background> background_;
};

absl::Status Cluster::Connect() {
  const Scenario& scenario = measured_.scenario;
  for (size_t i = 0; i < scenario.senders; ++i) {
    if (absl::Status added = AddSender(i); !added.ok()) return added;
  }
  if (scenario.background == 0) return absl::OkStatus();
  auto background = Background::Start(*pairs_.front().device, *receiving_, scenario.background);
  if (!background.ok()) return background.status();
  background_ = *std::move(background);
  return absl::OkStatus();
}

absl::Status Cluster::AddSender(size_t number) {
  const Scenario& scenario = measured_.scenario;
  auto workload = MakeWorkload(scenario, measured_.costs);
  if (!workload.ok()) return workload.status();
  Pair& pair = pairs_.emplace_back();
  pair.device = measured_.simulation.CreateDevice(absl::StrCat("sender ", number));
  const ConnectionOptions options{.object_bytes = scenario.object_bytes,
                                  .batch = std::max(scenario.batch, scenario.ahead)};
  auto connection = durable::Connect(scenario.exchange, *pair.device, *receiving_, options, measured_.costs);
  if (!connection.ok()) return connection.status();
  pair.times = std::make_unique<ReceiverTimes>();
  pair.poller = std::make_unique<Poller>(measured_, *pair.times, std::move(connection->receiver));
  pair.sender = std::make_unique<Sender>(measured_, *pair.times, *std::move(workload), std::move(connection->sender));
  return absl::OkStatus();
}

bool Cluster::done() const {
  if (measured_.enough()) return true;
  return std::all_of(pairs_.begin(), pairs_.end(), [](const Pair& pair) { return pair.sender->done(); });
}

absl::StatusOr<Outcome> Cluster::Run() {
  while (!done() && measured_.status.ok()) {
    if (!measured_.simulation.Step()) return absl::DeadlineExceededError("everybody waits for something");
    for (const Pair& pair : pairs_) {
      pair.sender->Turn();
      pair.poller->Turn();
    }
    if (background_ != nullptr) measured_.status.Update(background_->Turn());
  }
  if (!measured_.status.ok()) return measured_.status;
  return measured_.Summary();
}

}  // namespace

absl::StatusOr<Outcome> Run(const Scenario& scenario, const Costs& all) {
  if (scenario.senders == 0 || scenario.senders >= all.receiver_cores) {
    return absl::InvalidArgumentError(absl::StrCat(scenario.senders, " senders"));
  }
  const Costs costs = all.WithMedia(scenario.media);
  Cluster cluster(scenario, costs);
  if (absl::Status connected = cluster.Connect(); !connected.ok()) return connected;
  return cluster.Run();
}

}  // namespace skein::bench::durable
