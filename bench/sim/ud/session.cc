#include "bench/sim/ud/session.h"

#include <algorithm>

namespace skein::bench {

UdSession::UdSession(Port& port, const UdCosts& costs, const Exchange& exchange, double link)
    : port_(port),
      costs_(costs),
      exchange_(exchange),
      timely_(link, port.time()),
      credits_(costs.credits),
      slots_(costs.slots) {
  for (Slot& slot : slots_) slot.when.resize(exchange_.datagrams());
}

void UdSession::Begin() {
  const auto idle = std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return !slot.busy; });
  if (idle == slots_.end()) {
    waiting_.push_back(port_.time());
    return;
  }
  Occupy(*idle, port_.time());
  Advance();
}

void UdSession::Occupy(Slot& slot, absl::Time begun) {
  slot.busy = true;
  slot.begun = begun;
  slot.progress = begun;
  ++slot.request;
  slot.sent = slot.answered = 0;
}

// The slots in order; each as far as it may. A response's further datagrams are asked for once the first has come,
// since only it says how many there are.
void UdSession::Advance() {
  for (size_t i = 0; i < slots_.size() && credits_ > 0; ++i) {
    Slot& slot = slots_[i];
    if (!slot.busy) continue;
    const bool answered = slot.answered >= exchange_.requests();
    const size_t known = answered ? exchange_.datagrams() : exchange_.requests();
    while (credits_ > 0 && slot.sent < known) SendNext(i);
  }
}

void UdSession::SendNext(size_t slot) {
  --credits_;
  const size_t number = slots_[slot].sent++;
  slots_[slot].progress = port_.time();
  const bool bypass = !costs_.congestion_control || (costs_.bypass && timely_.uncongested() && paced_.empty());
  if (bypass) return Transmit(slot, number);
  const size_t bytes = costs_.header_bytes + (number < exchange_.requests() ? exchange_.RequestBytes(number) : 0);
  const absl::Time due = std::max(next_, port_.time());
  next_ = due + absl::Seconds(static_cast<double>(bytes) / timely_.rate());
  port_.Spend(costs_.pace);
  paced_.push_back({due, slot, number});
}

absl::Time UdSession::SendDue() {
  while (!paced_.empty() && paced_.front().due <= port_.time()) {
    const Paced next = paced_.front();
    paced_.pop_front();
    Transmit(next.slot, next.number);
  }
  return paced_.empty() ? absl::InfiniteFuture() : paced_.front().due;
}

void UdSession::Transmit(size_t slot, size_t number) {
  slots_[slot].when[number] = port_.time();
  Datagram datagram;
  datagram.slot = slot;
  datagram.request = slots_[slot].request;
  datagram.number = number;
  datagram.bytes = number < exchange_.requests() ? exchange_.RequestBytes(number) : 0;
  port_.Send(datagram);
}

std::optional<absl::Time> UdSession::OnAnswer(const Datagram& answer) {
  Slot& slot = slots_[answer.slot];
  const bool expected =
      slot.busy && answer.request == slot.request && answer.number == slot.answered && answer.number < slot.sent;
  if (!expected) return std::nullopt;  // late, or one before it was lost
  ++slot.answered;
  ++credits_;
  slot.progress = port_.time();
  if (costs_.congestion_control) Sample(port_.time() - slot.when[answer.number]);
  std::optional<absl::Time> completed;
  if (slot.answered == exchange_.datagrams()) {
    completed = slot.begun;
    slot.busy = false;
    if (!waiting_.empty()) {
      Occupy(slot, waiting_.front());
      waiting_.pop_front();
    }
  }
  Advance();
  return completed;
}

void UdSession::Sample(absl::Duration round_trip) {
  port_.Spend(costs_.sample);
  if (costs_.bypass && timely_.Bypasses(round_trip)) return;
  port_.Spend(costs_.update);
  timely_.Update(port_.time(), round_trip);
}

void UdSession::Retransmit() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    const bool waits = slot.busy && slot.sent > slot.answered && !Paces(i);
    if (!waits || port_.time() - slot.progress <= costs_.retransmission) continue;
    ++retransmissions_;
    credits_ += slot.sent - slot.answered;
    slot.sent = slot.answered;
    Advance();
  }
}

bool UdSession::Paces(size_t slot) const {
  return std::any_of(paced_.begin(), paced_.end(), [slot](const Paced& paced) { return paced.slot == slot; });
}

}  // namespace skein::bench
