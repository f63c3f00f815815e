// Whether the other skeind is there, and answers.
#include <algorithm>

#include "core/base/deadline.h"
#include "core/service/trunk.h"

namespace skein::service {
namespace {

// Two looks, so that a skeind that was itself stopped gives the other one the time between them.
constexpr int kMostUnanswered = 2;

}  // namespace

absl::Time Trunk::Tend(absl::Time now) {
  while (!awaited_.empty() && !IsAwaited(awaited_.front())) awaited_.pop_front();
  if (!awaited_.empty() && now >= awaited_.front().until) Fail("the other skeind owes an answer");
  if (ended_) return absl::InfiniteFuture();
  const bool looks = look_at_ != absl::InfiniteFuture();
  if (!ready_) {
    if (!looks) look_at_ = now + patience_.silence;
    if (now >= look_at_) Fail("the other skeind does not greet");
  } else if (!looks) {
    if (active_) AskWhetherItIsThere(now);
  } else if (now >= look_at_) {
    if (answered_) {
      look_at_ = absl::InfiniteFuture();
      LookAfterQueuePair();
      if (!ended_ && (active_ || !under_way_.empty())) AskWhetherItIsThere(now);
    } else if (++unanswered_ < kMostUnanswered) {
      look_at_ = now + patience_.silence / kMostUnanswered;
    } else {
      Fail("the other skeind does not answer: it has been stopped, or hangs");
    }
  }
  const absl::Time next = std::min(look_at_, UnusedUntil(now));
  return awaited_.empty() ? next : std::min(next, awaited_.front().until);
}

// Requests may be silent: nobody is woken when one of those ends, and until then the trunk goes on asking.
void Trunk::LookAfterQueuePair() {
  Poll();
  if (ended_) return;
  AskWhetherAllHasEnded();
  if (!ended_) queue_pair_->RefreshState();
  FailWithQueuePair();
}

// The end that has connected says kConnect, so the other one cannot begin to use it meanwhile.
absl::Time Trunk::UnusedUntil(absl::Time now) {
  if (!opened_by_.has_value() || !members_.empty() || ended_) return unused_since_ = absl::InfiniteFuture();
  unused_since_ = std::min(unused_since_, now);
  if (now >= unused_since_ + patience_.unused) Fail("no process uses it");
  return unused_since_ + patience_.unused;
}

void Trunk::AskWhetherItIsThere(absl::Time now) {
  active_ = false;
  answered_ = false;
  unanswered_ = 0;
  look_at_ = now + patience_.silence / kMostUnanswered;
  TrunkMessage question;
  question.kind = TrunkKind::kAsk;
  Send(question);
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
      return lent_.contains({of->number, awaited.rkey});
  }
}

}  // namespace skein::service
