#include "bench/durable/recovery.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "bench/durable/ends.h"
#include "bench/durable/measured.h"
#include "bench/durable/modelled_pmem.h"
#include "bench/durable/poller.h"
#include "bench/durable/sender.h"

namespace skein::bench::durable {
namespace {

constexpr absl::Duration kWarmUp = absl::Milliseconds(4);  // the log's slots are in use by then
constexpr absl::Duration kMoment = absl::Milliseconds(2);  // the crash is at any moment of these

class Crash {
 public:
  Crash(const Scenario& scenario, const Costs& costs)
      : measured_(scenario, costs), sending_(measured_.simulation.CreateDevice("sender")) {}

  absl::Status Run(RecoveryOutcome& sum);

 private:
  absl::StatusOr<Connection> Connect(std::shared_ptr<ModelledPmem> pmem) {
    receiving_ = measured_.simulation.CreateDevice("receiver");
    return durable::Connect(measured_.scenario.exchange, *sending_, *receiving_,
                            {.object_bytes = measured_.scenario.object_bytes, .pmem = std::move(pmem)},
                            measured_.costs);
  }
  absl::Status RunUntilCrash();
  // What the sender had asked for: is it in the log? Returns what is to be sent again.
  std::vector<Operation> LookUp(uint64_t first, RecoveryOutcome& sum);
  absl::Status SendAgain(absl::Span<const Operation> again, SenderEnd& sender, Poller& poller);
  // Until all is over that the sender waits for. Returns what nobody answers: reads whose replies the crash has lost.
  absl::StatusOr<std::vector<Operation>> Finish(SenderEnd& sender, Poller& poller);
  absl::Time NextTransmission() const;

  Measured measured_;
  const std::shared_ptr<fabric::Device> sending_;
  std::shared_ptr<fabric::Device> receiving_;
  ReceiverTimes times_;
  std::unique_ptr<Poller> poller_;
  std::unique_ptr<Sender> sender_;
  std::shared_ptr<ModelledPmem> pmem_;
  absl::Time crashed_;
  std::vector<Sender::Unanswered> unanswered_;      // in the first life
  absl::btree_map<uint64_t, Operation> waits_for_;  // in the second, by number
};

absl::Status Crash::RunUntilCrash() {
  auto workload = MakeWorkload(measured_.scenario, measured_.costs);
  if (!workload.ok()) return workload.status();
  auto connection = Connect(nullptr);
  if (!connection.ok()) return connection.status();
  pmem_ = connection->pmem;
  poller_ = std::make_unique<Poller>(measured_, times_, std::move(connection->receiver));
  sender_ = std::make_unique<Sender>(measured_, times_, *std::move(workload), std::move(connection->sender));
  const absl::Time end = measured_.simulation.now() + kWarmUp + measured_.random.Below(kMoment);
  while (measured_.simulation.now() < end && measured_.status.ok()) {
    if (!measured_.simulation.Step()) return absl::DeadlineExceededError("everybody waits for something");
    sender_->Turn();
    poller_->Turn();
  }
  return measured_.status;
}

absl::Status Crash::Run(RecoveryOutcome& sum) {
  if (absl::Status ran = RunUntilCrash(); !ran.ok()) return ran;
  unanswered_ = sender_->unanswered();
  if (pmem_ != nullptr) pmem_ = std::make_shared<ModelledPmem>(*pmem_);
  crashed_ = measured_.simulation.now();
  measured_.simulation.KillDevice("receiver");
  receiving_ = nullptr;
  measured_.simulation.RunFor(measured_.costs.restart);
  measured_.status = absl::OkStatus();  // the first life's cores have met its end

  auto connection = Connect(pmem_);
  if (!connection.ok()) return connection.status();
  Poller poller(measured_, times_, std::move(connection->receiver));
  absl::StatusOr<std::vector<Operation>> again = LookUp(connection->sender->first(), sum);
  bool kept = true;
  do {
    sum.sent_again += static_cast<double>(again->size());
    kept = kept && again->empty();
    if (absl::Status sent = SendAgain(*again, *connection->sender, poller); !sent.ok()) return sent;
    again = Finish(*connection->sender, poller);
  } while (again.ok() && !again->empty());
  if (kept) sum.kept += 1;
  sum.waits_ms += absl::ToDoubleMilliseconds(measured_.simulation.now() - crashed_);
  return again.status();
}

std::vector<Operation> Crash::LookUp(uint64_t first, RecoveryOutcome& sum) {
  std::vector<Operation> again;
  for (const Sender::Unanswered& request : unanswered_) {
    const bool in_log = pmem_ != nullptr && request.number < first;
    if (in_log) sum.from_log += 1;
    if (request.over && !in_log) ++sum.forgotten;
    if (request.over || (in_log && request.operation.is_write != 0)) continue;
    if (in_log) {
      waits_for_[request.number] = request.operation;
    } else {
      again.push_back(request.operation);
    }
  }
  return again;
}

absl::Status Crash::SendAgain(absl::Span<const Operation> again, SenderEnd& sender, Poller& poller) {
  if (again.empty()) return absl::OkStatus();
  // Meanwhile the receiver goes on with its log.
  bool due = false;
  measured_.simulation.Schedule(NextTransmission() - measured_.simulation.now(), [&due] { due = true; });
  while (!due && measured_.simulation.Step()) poller.Turn();
  for (size_t i = 0; i < again.size(); ++i) waits_for_[sender.first() + i] = again[i];
  return sender.Send(again);
}

absl::Time Crash::NextTransmission() const {
  const auto first = std::find_if(unanswered_.begin(), unanswered_.end(),
                                  [](const Sender::Unanswered& request) { return !request.over; });
  absl::Duration left;
  const absl::Duration since = measured_.simulation.now() - first->begun;
  const int64_t whole = absl::IDivDuration(since, measured_.costs.retransmission, &left);
  return first->begun + measured_.costs.retransmission * (whole + 1);
}

absl::StatusOr<std::vector<Operation>> Crash::Finish(SenderEnd& sender, Poller& poller) {
  for (bool moves = true; moves && !waits_for_.empty(); moves = measured_.simulation.Step()) {
    poller.Turn();
    const absl::StatusOr<SenderEnd::News> news = sender.Poll();
    if (!news.ok()) return news.status();
    if (!measured_.status.ok()) return measured_.status;
    for (const uint64_t number : news->replies) waits_for_.erase(number);
    if (!sender.early()) continue;
    absl::erase_if(waits_for_,
                   [&](const auto& one) { return one.second.is_write != 0 && one.first <= news->safe_up_to; });
  }
  std::vector<Operation> unanswered;
  for (const auto& [number, operation] : std::exchange(waits_for_, {})) unanswered.push_back(operation);
  return unanswered;
}

}  // namespace

absl::StatusOr<RecoveryOutcome> RunRecovery(const Scenario& scenario, const Costs& costs, uint64_t crashes) {
  RecoveryOutcome sum;
  for (uint64_t i = 0; i < crashes; ++i) {
    Scenario one = scenario;
    one.seed += i;
    if (absl::Status ran = Crash(one, costs).Run(sum); !ran.ok()) return ran;
  }
  const auto count = static_cast<double>(crashes);
  return RecoveryOutcome{.waits_ms = sum.waits_ms / count,
                         .sent_again = sum.sent_again / count,
                         .from_log = sum.from_log / count,
                         .kept = sum.kept / count,
                         .forgotten = sum.forgotten};
}

}  // namespace skein::bench::durable
