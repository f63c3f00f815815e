#include "bench/durable/measured.h"

#include <algorithm>

namespace skein::bench::durable {
namespace {

Latency SummaryOf(std::vector<double>& values) {
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

void Measured::CountOver(const RequestTime& request) {
  ++over_;
  if (!measuring()) return;
  if (started_ == absl::InfinitePast()) started_ = simulation.now();
  const double latency = absl::ToDoubleMicroseconds(request.latency);
  (request.write ? writes_ : reads_).push_back(latency);
  all_.push_back(latency);
  sender_ += request.sender;
  receiver_ += request.receiver;
}

void Measured::CountOperation(absl::Duration latency) {
  if (measuring()) operations_.push_back(absl::ToDoubleMicroseconds(latency));
}

void Measured::CountReply(absl::Duration latency) {
  if (measuring()) replies_.push_back(absl::ToDoubleMicroseconds(latency));
}

Outcome Measured::Summary() {
  Outcome outcome;
  const auto requests = static_cast<double>(all_.size());
  outcome.operations_per_second = requests / absl::ToDoubleSeconds(simulation.now() - started_);
  outcome.seconds = absl::ToDoubleSeconds(simulation.now() - absl::UnixEpoch());
  outcome.all = SummaryOf(all_);
  outcome.write = SummaryOf(writes_);
  outcome.read = SummaryOf(reads_);
  outcome.reply = SummaryOf(replies_);
  outcome.operation = SummaryOf(operations_);
  outcome.sender_us = absl::ToDoubleMicroseconds(sender_) / requests;
  outcome.receiver_us = absl::ToDoubleMicroseconds(receiver_) / requests;
  return outcome;
}

}  // namespace skein::bench::durable
