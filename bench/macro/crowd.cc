#include "bench/macro/crowd.h"

#include <optional>

#include "absl/time/clock.h"
#include "bench/macro/schedule.h"
#include "tests/support/held.h"

namespace skein::bench {

void Caller::Start(size_t number, absl::Time since) {
  number_ = number;
  since_ = since;
  // The earlier call's context goes last: what derived classes keep of that call lives in it.
  const std::unique_ptr<grpc::ClientContext> earlier = std::exchange(context_, std::make_unique<grpc::ClientContext>());
  context_->set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
  Call(*stubs_[number % stubs_.size()]);
}

bool Caller::TakeAnswer(absl::Time now) {
  record_.latencies.push_back(now - since_);
  record_.status = Verify(status_, request_, reply_);
  return record_.status.ok();
}

absl::StatusOr<Outcome> Crowd::Run() {
  const absl::Time start = absl::Now();
  end_ = start + load_.duration;
  load_.rate > 0 ? KeepPace(start) : StartAll();
  Held lock(mutex_);
  mutex_.Await(absl::Condition(this, &Crowd::AllHaveEnded));
  const absl::Duration elapsed = absl::Now() - start;
  std::vector<Record> records;
  records.reserve(callers_.size());
  for (const std::unique_ptr<Caller>& caller : callers_) records.push_back(caller->TakeRecord());
  return Merge(records, elapsed);
}

void Crowd::StartAll() {
  std::vector<Caller*> callers;
  callers.reserve(load_.callers);
  for (int number = 0; number < load_.callers; ++number) callers.push_back(&Free());
  for (size_t number = 0; number < callers.size(); ++number) callers[number]->Start(number, absl::Now());
}

void Crowd::KeepPace(absl::Time start) {
  Schedule schedule(load_, start);
  size_t number = 0;
  while (const std::optional<absl::Time> since = schedule.Next()) Free().Start(number++, *since);
}

Caller& Crowd::Free() {
  Held lock(mutex_);
  if (free_.empty()) return *callers_.emplace_back(make_(callers_.size()));
  Caller& caller = *free_.back();
  free_.pop_back();
  return caller;
}

void Crowd::Answered(Caller& caller) {
  const absl::Time now = absl::Now();
  const bool right = caller.TakeAnswer(now);
  if (right && load_.rate == 0 && now < end_) return caller.Start(caller.number() + load_.callers, now);
  Held lock(mutex_);
  right ? free_.push_back(&caller) : void(++failed_);
}

}  // namespace skein::bench
