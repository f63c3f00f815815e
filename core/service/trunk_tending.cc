// Whether the other skeind is there, and answers.
#include <algorithm>

#include "core/base/deadline.h"
#include "core/service/trunk.h"

namespace skein::service {

absl::Time Trunk::Tend(absl::Time now) {
  while (!awaited_.empty() && !IsAwaited(awaited_.front())) awaited_.pop_front();
  if (!awaited_.empty() && now >= awaited_.front().until) Fail("the other skeind owes an answer");
  if (ended_) return absl::InfiniteFuture();
  if (greeting_.has_value() && silence_.quiet()) silence_.AwaitGreeting(now);
  const TrunkSilence::Verdict verdict = silence_.Look(now);
  if (verdict == TrunkSilence::Verdict::kSilent) {
    Fail(greeting_.has_value() ? "the other skeind does not greet"
                               : "the other skeind does not answer: it has been stopped, or hangs");
  }
  if (verdict == TrunkSilence::Verdict::kIsThere) line_.Look();
  if (!ended_ && silence_.quiet() && (silence_.noted() || line_.under_way() > 0)) AskWhetherItIsThere(now);
  const absl::Time next = std::min(silence_.look_at(), UnusedUntil(now));
  return awaited_.empty() ? next : std::min(next, awaited_.front().until);
}

// The end that has connected says kConnect, so the other one cannot begin to use it meanwhile.
absl::Time Trunk::UnusedUntil(absl::Time now) {
  if (!opened_by_.has_value() || !members_.empty() || ended_) return unused_since_ = absl::InfiniteFuture();
  unused_since_ = std::min(unused_since_, now);
  if (now >= unused_since_ + patience_.unused) Fail("no process uses it");
  return unused_since_ + patience_.unused;
}

void Trunk::AskWhetherItIsThere(absl::Time now) {
  silence_.Asked(now);
  Send({.kind = TrunkKind::kAsk});
}

void Trunk::Await(TrunkKind answer, const std::shared_ptr<VirtualQueuePair>& of, uint32_t rkey) {
  awaited_.push_back({SteadyNow() + patience_.answers, answer, of, rkey});
}

bool Trunk::IsAwaited(const Awaited& awaited) const {
  const std::shared_ptr<VirtualQueuePair> of = awaited.of.lock();
  if (of == nullptr || of->trunk.get() != this) return false;
  switch (awaited.answer) {
    case TrunkKind::kConnected:
      return of->peer == 0 && !of->heard_closed;
    case TrunkKind::kClosed:
      return !of->heard_closed;
    case TrunkKind::kResolved: {
      const auto remote = of->remotes.find(awaited.rkey);
      return remote != of->remotes.end() && !remote->second.known;
    }
    default:  // kRevoked
      return memory_.IsLent({of->number, awaited.rkey});
  }
}

}  // namespace skein::service
