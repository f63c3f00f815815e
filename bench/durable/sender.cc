#include "bench/durable/sender.h"

#include <algorithm>
#include <utility>

namespace skein::bench::durable {

Sender::Sender(Measured& measured, const ReceiverTimes& receiver, std::unique_ptr<Workload> workload,
               std::unique_ptr<SenderEnd> end)
    : measured_(measured),
      receiver_(receiver),
      workload_(std::move(workload)),
      end_(std::move(end)),
      core_(measured.simulation, measured.Share(measured.SenderTurn())) {
  if (MayThink()) Think();
}

void Sender::Turn() {
  if (core_.busy() || !measured_.status.ok()) return;
  absl::StatusOr<SenderEnd::News> news = end_->Poll();
  if (!news.ok()) return measured_.status.Update(news.status());
  if (news->cost > absl::ZeroDuration()) {
    core_.Run(news->cost, [this, news = *std::move(news)] { Take(news); });
  } else if (MayThink()) {
    Think();
  }
}

bool Sender::MayThink() {
  const Scenario& scenario = measured_.scenario;
  if (open_ >= scenario.ahead || !end_->HasRoom(scenario.batch)) return false;
  if (!next_ && !ended_) {
    next_ = workload_->Next(measured_.random);
    ended_ = !next_;
  }
  return next_ && (open_ == 0 || !next_->waits);
}

void Sender::Think() {
  Step step = *std::exchange(next_, std::nullopt);
  open_ += step.requests.size();
  const absl::Duration thinks = step.thinks;
  core_.Run(thinks, [this, step = std::move(step)]() mutable { Send(step); });
}

void Sender::Send(const Step& step) {
  const absl::Time now = measured_.simulation.now();
  const absl::Duration cost = end_->SendCost(step.requests);
  if (!operation_) operation_ = now;
  whole_ = step.ends;
  for (const Operation& operation : step.requests) {
    pending_.push_back({.operation = operation, .begun = now, .computes = step.computes, .spent = cost});
  }
  core_.Run(cost, [this, requests = step.requests] { measured_.status.Update(end_->Send(requests)); });
}

void Sender::Take(const SenderEnd::News& news) {
  const uint64_t safe_before = std::exchange(safe_, std::max(safe_, news.safe_up_to));
  absl::Duration computes;
  for (uint64_t number = safe_before + 1; number <= safe_; ++number) {
    At(number).spent += news.cost;
    if (At(number).operation.is_write != 0 && end_->early()) Over(number, /*reply=*/false);
  }
  for (const uint64_t number : news.replies) {
    At(number).spent += news.cost;
    computes += At(number).computes;
    TakeReply(number);
  }
  Forget();
  if (computes > absl::ZeroDuration()) core_.Run(computes, [] {});
}

void Sender::TakeReply(uint64_t number) {
  Pending& pending = At(number);
  pending.replied = true;
  Over(number, /*reply=*/true);
  measured_.CountReply(measured_.simulation.now() - pending.begun);
}

std::vector<Sender::Unanswered> Sender::unanswered() const {
  std::vector<Unanswered> found;
  for (size_t i = 0; i < pending_.size(); ++i) {
    const Pending& pending = pending_[i];
    if (!pending.replied) found.push_back({first_ + i, pending.operation, pending.begun, pending.over});
  }
  return found;
}

absl::Duration Sender::ReceiverTimeOf(uint64_t number, bool reply) const {
  const auto found = receiver_.find(number);
  if (found == receiver_.end()) return absl::ZeroDuration();
  if (reply) return found->second.taken + found->second.executed;
  return end_->receiver_acknowledges() ? found->second.taken : absl::ZeroDuration();
}

void Sender::Over(uint64_t number, bool reply) {
  Pending& pending = At(number);
  if (pending.over) return;
  pending.over = true;
  --open_;
  measured_.CountOver({.write = pending.operation.is_write != 0,
                       .latency = measured_.simulation.now() - pending.begun,
                       .sender = pending.spent,
                       .receiver = ReceiverTimeOf(number, reply)});
  if (open_ == 0 && whole_ && operation_) {
    measured_.CountOperation(measured_.simulation.now() - *std::exchange(operation_, std::nullopt));
  }
}

void Sender::Forget() {
  while (!pending_.empty() && pending_.front().over && pending_.front().replied &&
         (!end_->early() || first_ <= safe_)) {
    pending_.pop_front();
    ++first_;
  }
}

}  // namespace skein::bench::durable
