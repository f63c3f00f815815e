#include "tests/unit/grpc_transport/iomgr/calls_chaos/journal.h"

#include <cstdlib>

#include "gtest/gtest.h"
#include "tests/support/held.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/plan.h"

namespace skein::calls_chaos {
namespace {

constexpr int kMostWrong = 10;  // then it is clear that something is

}  // namespace

void Journal::Begin(uint64_t call, size_t channel, grpc::ClientContext& context) {
  const Held lock(mu_);
  Record& record = calls_[call];
  record.channel = channel;
  record.context = &context;
  record.befallen = befalling_[channel];
}

Record Journal::End(uint64_t call) {
  const Held lock(mu_);
  Record& record = calls_[call];
  record.context = nullptr;
  ++ended_;
  return record;
}

void Journal::AwaitEnded(size_t calls) {
  std::vector<uint64_t> under_way;
  {
    const Held lock(mu_);
    while (ended_ < calls && under_way.empty()) {
      const auto another = [this, ended = ended_]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return ended_ > ended; };
      if (mu_.AwaitWithTimeout(absl::Condition(&another), kPatience * 2)) continue;
      for (const auto& [call, record] : calls_) {
        if (record.context != nullptr) under_way.push_back(call);
      }
    }
  }
  for (const uint64_t call : under_way) Wrong(call, "does not end, though its time has run out");
  if (!under_way.empty()) std::abort();
}

void Journal::Cancel(uint64_t call) {
  const Held lock(mu_);
  Record& record = calls_[call];
  if (record.context == nullptr) return;  // it has ended
  record.cancelled = true;
  record.context->TryCancel();
}

void Journal::HandlerBegins(uint64_t call) {
  bool again = false;
  {
    const Held lock(mu_);
    again = ++calls_[call].handled > 1;
  }
  if (again) Wrong(call, "a handler has it once more");
}

void Journal::HandlerIsComplete(uint64_t call) {
  const Held lock(mu_);
  calls_[call].complete = true;
}

void Journal::Befalls(size_t channel, uint8_t what, bool spares_handled) {
  const Held lock(mu_);
  befalling_[channel] |= what;
  for (auto& [call, record] : calls_) {
    if (record.channel != channel || record.context == nullptr) continue;
    if (!spares_handled || record.handled == 0) record.befallen |= what;
  }
}

void Journal::Over(size_t channel) {
  const Held lock(mu_);
  befalling_[channel] = 0;
}

void Journal::Wrong(uint64_t call, absl::string_view what) {
  {
    const Held lock(mu_);
    if (++wrong_ > kMostWrong) return;
  }
  ADD_FAILURE() << "calls_chaos_test --seed=" << seed_ << " --worlds=1: call " << call << " (" << Describe(PlanOf(call))
                << "): " << what;
}

void Journal::Count(const std::string& outcome) {
  const Held lock(mu_);
  ++outcomes_[outcome];
}

std::map<std::string, int> Journal::outcomes() {
  const Held lock(mu_);
  return outcomes_;
}

}  // namespace skein::calls_chaos
