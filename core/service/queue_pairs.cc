#include "core/service/queue_pairs.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "core/base/fallback.h"
#include "core/base/random_value.h"
#include "core/service/offer.h"
#include "core/service/session.h"
#include "core/service/trunk.h"
#include "core/service/trunks.h"

namespace skein::service {
namespace {

using fabric::service::Submission;
using State = VirtualQueuePair::State;

// Of one queue pair, before others have their turn.
constexpr int kRequestsATurn = 16;
constexpr uint64_t kBytesATurn = 256 << 10;
constexpr uint32_t kNumbers = 1 << 24;

}  // namespace

bool QueuePairs::ServeTurns() {
  bool any = false;
  // As many as there are now: those that come back to the end of the queue wait until completions were looked at.
  for (int i = 0; i < 64 && !turns_.empty(); ++i, any = true) Serve(turns_.Next());
  // The trunk posts requests of several processes at once: the device hears of them once.
  if (any) trunks_.Flush();
  return any;
}

void QueuePairs::Serve(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  VirtualQueuePair& served = *queue_pair;
  if (served.state != State::kConnected || served.waits_to_hear || served.waits_for_space || served.is_refused) return;
  const uint64_t published = served.submissions.header().published.load(std::memory_order_acquire);
  if (published - served.taken > served.depth) return End(queue_pair, fabric::service::End::kRequest);
  const std::shared_ptr<Trunk> trunk = served.trunk;
  Trunk::Posted posted = Trunk::Posted::kYes;
  uint64_t bytes = 0;
  for (int i = 0; i < kRequestsATurn && bytes < kBytesATurn && served.taken != published; ++i) {
    Submission request;
    std::memcpy(&request, &served.submissions.at(served.taken), sizeof(request));
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the process may change it: the copy counts
    posted = trunk->Post(queue_pair, request);
    if (posted != Trunk::Posted::kYes) break;
    ++served.taken;
    bytes += request.length;
  }
  served.traffic.request_bytes += bytes;
  if (posted == Trunk::Posted::kRefused) return Refuse(queue_pair);
  if (posted == Trunk::Posted::kYes && served.taken != published) MayGoOn(queue_pair);
}

// The process hears first how what it had asked before has ended.
void QueuePairs::Refuse(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  if (queue_pair->state != State::kConnected) return;  // the requests before it have found the trunk broken
  queue_pair->is_refused = true;
  queue_pair->session->CountRefusal();
  queue_pair->trunk->line().Later([this, queue_pair] {
    if (queue_pair->state != State::kConnected) return;
    fabric::service::CompletionEntry refused;
    refused.position = queue_pair->taken;
    refused.queue_pair = queue_pair->number;
    refused.status = static_cast<uint32_t>(fabric::CompletionStatus::kRemoteAccessError);
    queue_pair->send_queue->Add(refused);  // without space it is flushed like the others
    End(queue_pair, fabric::service::End::kRequest);
  });
}

void QueuePairs::MayGoOn(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  turns_.Add(queue_pair->session->user(), queue_pair->session.get(), queue_pair);
}

absl::Status QueuePairs::Add(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  if (by_number_.size() >= kNumbers - 1) {
    return absl::ResourceExhaustedError("skeind has no more numbers for queue pairs");
  }
  do {
    last_number_ = (last_number_ + 1) % kNumbers;
  } while (last_number_ == 0 || by_number_.contains(last_number_));
  queue_pair->number = last_number_;
  by_number_[last_number_] = queue_pair;
  return absl::OkStatus();
}

absl::StatusOr<std::string> QueuePairs::Offer(VirtualQueuePair& queue_pair, const Port& port) {
  if (queue_pair.state != State::kNew)
    return absl::FailedPreconditionError("the queue pair has made an offer, or is connected or closed");
  queue_pair.state = State::kOffered;
  queue_pair.token = RandomValue<uint64_t>();
  return EncodeOffer({queue_pair.number, queue_pair.token, trunks_.port(), port.address});
}

absl::Status QueuePairs::Accept(const std::shared_ptr<VirtualQueuePair>& queue_pair, absl::string_view bytes) {
  const absl::StatusOr<service::Offer> offer = DecodeOffer(bytes);
  if (!offer.ok()) return offer.status();
  if (offer->host.empty()) return FallbackError(FallbackCode::kProtocol, "an answer in place of an offer");
  if (queue_pair->state != State::kNew)
    return absl::FailedPreconditionError("the queue pair has made an offer, or is connected or closed");
  const absl::StatusOr<std::shared_ptr<Trunk>> trunk = trunks_.To(offer->host, offer->port, *queue_pair->session);
  if (!trunk.ok()) return trunk.status();
  queue_pair->state = State::kAccepting;
  queue_pair->token = offer->token;
  (*trunk)->Attach(queue_pair);
  (*trunk)->Send(
      {.kind = TrunkKind::kConnect, .number = offer->number, .from = queue_pair->number, .token = offer->token});
  return absl::OkStatus();
}

absl::Status QueuePairs::Accepted(Trunk& trunk, const TrunkMessage& connect) {
  const auto found = by_number_.find(connect.number);
  const std::shared_ptr<VirtualQueuePair> queue_pair = found == by_number_.end() ? nullptr : found->second;
  if (queue_pair == nullptr || queue_pair->state != State::kOffered || queue_pair->token != connect.token) {
    return FallbackError(FallbackCode::kProtocol, "an offer that nobody has out");
  }
  if (queue_pair->session->device() != trunk.device()) {
    return FallbackError(FallbackCode::kProtocol, "an offer of another device");
  }
  queue_pair->state = State::kConnected;
  queue_pair->peer = connect.from;
  trunk.Attach(queue_pair);
  return absl::OkStatus();
}

void QueuePairs::Connected(const std::shared_ptr<VirtualQueuePair>& queue_pair, const absl::Status& status) {
  if (queue_pair->state != State::kAccepting) return;
  if (!status.ok()) {
    End(queue_pair, fabric::service::End::kConnection);  // the process sees it once it has the answer
    return queue_pair->session->AcceptEnded(*queue_pair, status);
  }
  queue_pair->state = State::kConnected;
  queue_pair->session->AcceptEnded(*queue_pair,
                                   EncodeOffer({queue_pair->number, queue_pair->token, trunks_.port(), ""}));
}

absl::Status QueuePairs::Complete(VirtualQueuePair& queue_pair, absl::string_view bytes) {
  const absl::StatusOr<service::Offer> answer = DecodeOffer(bytes);
  if (!answer.ok()) return answer.status();
  if (queue_pair.state != State::kConnected || answer->number != queue_pair.peer || answer->token != queue_pair.token) {
    return FallbackError(FallbackCode::kProtocol, "an answer to another offer");
  }
  return absl::OkStatus();
}

void QueuePairs::End(const std::shared_ptr<VirtualQueuePair>& queue_pair, fabric::service::End why) {
  if (queue_pair->state == State::kEnded) return;
  const State before = std::exchange(queue_pair->state, State::kEnded);
  queue_pair->locals.clear();
  // The process finds all completions there before it sees the end.
  for (const auto& queue : {queue_pair->send_queue, queue_pair->receive_queue}) {
    if (queue->has_news()) queue->Publish();
  }
  queue_pair->submissions.header().end.store(static_cast<uint32_t>(why), std::memory_order_release);
  queue_pair->send_queue->WakeIfAsleep();
  queue_pair->receive_queue->WakeIfAsleep();
  // Which queue pair the peer's is, kConnected will say.
  if (queue_pair->trunk == nullptr || before == State::kAccepting) return;
  const std::shared_ptr<Trunk> trunk = queue_pair->trunk;  // which may fail over it, and is not the queue pair's then
  trunk->TellClosed(queue_pair);
}

void QueuePairs::Destroyed(const std::shared_ptr<VirtualQueuePair>& queue_pair, fabric::service::End why) {
  queue_pair->destroyed = true;
  End(queue_pair, why);
  FreeIfThrough(queue_pair);
}

void QueuePairs::Closed(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  queue_pair->trunk = nullptr;
  FreeIfThrough(queue_pair);
}

void QueuePairs::FreeIfThrough(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  if (queue_pair->destroyed && queue_pair->trunk == nullptr) by_number_.erase(queue_pair->number);
}

}  // namespace skein::service
