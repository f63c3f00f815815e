// Messages between two endpoints, and their order.
#ifndef SKEIN_CORE_FABRIC_SIM_WIRE_H_
#define SKEIN_CORE_FABRIC_SIM_WIRE_H_

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/fabric/fabric.h"

namespace skein::fabric::sim {

struct Packet {
  SendRequest request;  // but for `local`, which is the sender's
  std::vector<std::byte> payload;
  size_t read_bytes = 0;
};

struct Answer {
  CompletionStatus status = CompletionStatus::kSuccess;
  std::vector<std::byte> payload;  // READ, atomics
};

// One way between two endpoints, for packets or for answers. It keeps their order, and an arrival takes whatever is
// first: so nothing overtakes within a queue pair, whatever the times say.
template <typename Message>
class Wire {
 public:
  // Puts it behind what is under way. Returns when it arrives: at `earliest`, but not before those.
  absl::Time Put(Message message, absl::Time earliest) {
    messages_.push_back(std::move(message));
    last_arrival_ = std::max(last_arrival_, earliest);
    return last_arrival_;
  }
  bool empty() const { return messages_.empty(); }
  Message TakeFirst() {
    Message first = std::move(messages_.front());
    messages_.pop_front();
    return first;
  }

  // An arrival was in vain: the path is cut, or the peer is not ready yet. The message stays, and is sent again.
  void PutOff() { ++put_off_; }
  // How many are to be sent again.
  size_t TakePutOff() { return std::exchange(put_off_, 0); }
  // The sender will not send again what was put off; and the peer would take nothing after a gap.
  void DropFromGap() {
    if (put_off_ > 0) messages_.clear();
    put_off_ = 0;
  }

 private:
  std::deque<Message> messages_;
  size_t put_off_ = 0;
  absl::Time last_arrival_ = absl::InfinitePast();
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_WIRE_H_
