#include "bench/sim/service/host_nic.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace skein::bench {

void HostNic::Post(uint64_t queue_pair, Request request) {
  queue_pairs_[queue_pair].posted.push_back(std::move(request));
  Start(queue_pair);
}

void HostNic::Start(uint64_t queue_pair) {
  while (true) {
    const auto found = queue_pairs_.find(queue_pair);
    if (found == queue_pairs_.end()) return;
    QueuePair& from = found->second;
    if (from.posted.empty() || (from.posted.front().read && from.reads == costs_.reads_a_queue_pair)) return;
    auto request = std::make_shared<Request>(std::move(from.posted.front()));
    from.posted.pop_front();
    const bool read = request->read;
    if (read) ++from.reads;
    HostNic& peer = *request->peer;
    const uint64_t there = request->peer_queue_pair;
    const uint64_t answer = read ? request->bytes : 0;
    // The peer's NIC answers by itself.
    auto received = [this, queue_pair, read, answer, &peer, there, request] {
      if (request->arrived) request->arrived();
      peer.Transmit(there, {answer, this, queue_pair, [this, queue_pair, read, request] {
                              if (request->completed) request->completed();
                              Finished(queue_pair, read);
                            }});
    };
    Transmit(queue_pair, {read ? 0 : request->bytes, &peer, there, std::move(received)});
  }
}

void HostNic::Finished(uint64_t queue_pair, bool read) {
  const auto found = queue_pairs_.find(queue_pair);
  if (found == queue_pairs_.end()) return;
  if (read) --found->second.reads;
  Start(queue_pair);
  ForgetIfIdle(queue_pair);
}

// There may be a million of them.
void HostNic::ForgetIfIdle(uint64_t queue_pair) {
  const QueuePair& idle = queue_pairs_[queue_pair];
  if (idle.posted.empty() && idle.outgoing.empty() && idle.reads == 0) queue_pairs_.erase(queue_pair);
}

void HostNic::Transmit(uint64_t queue_pair, Outgoing message) {
  std::deque<Outgoing>& outgoing = queue_pairs_[queue_pair].outgoing;
  outgoing.push_back(std::move(message));
  if (outgoing.size() == 1) turns_.push_back(queue_pair);
  if (!sending_) SendBurst();
}

// The NIC's unit takes the next burst when the wire takes this one.
void HostNic::SendBurst() {
  sending_ = !turns_.empty();
  if (!sending_) return;
  const uint64_t queue_pair = turns_.front();
  std::deque<Outgoing>& outgoing = queue_pairs_[queue_pair].outgoing;
  Outgoing& message = outgoing.front();
  if (const absl::Time then = MaySendTo(*message.to); then > events_.now()) {
    return events_.At(then, [this] { SendBurst(); });
  }
  turns_.pop_front();
  const uint64_t burst = std::min(message.bytes_left, costs_.burst_bytes);
  message.bytes_left -= burst;
  HostNic& to = *message.to;
  const uint64_t there = message.to_queue_pair;
  Action received;  // with the last one
  if (message.bytes_left == 0) {
    received = std::move(message.received);
    outgoing.pop_front();
  }
  if (!outgoing.empty()) {
    turns_.push_back(queue_pair);
  } else {
    ForgetIfIdle(queue_pair);
  }
  const fabric::sim::Nic::Slot slot = nic_.Send(events_.now(), queue_pair, burst);
  events_.At(slot.start, [this] { SendBurst(); });
  events_.At(slot.end + costs_.nic.latency, [&to, there, burst, received = std::move(received)]() mutable {
    to.Receive(there, burst, std::move(received));
  });
}

absl::Time HostNic::MaySendTo(const HostNic& to) const {
  return to.received_until_ -
         absl::Seconds(static_cast<double>(costs_.switch_bytes) / static_cast<double>(costs_.nic.bytes_per_second));
}

void HostNic::Receive(uint64_t queue_pair, uint64_t bytes, Action received) {
  received_until_ = nic_.Receive(events_.now(), queue_pair, bytes);
  if (received) events_.At(received_until_, std::move(received));
}

}  // namespace skein::bench
