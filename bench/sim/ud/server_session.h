// The server's end of a session: which datagram of each slot comes next (eRPC, NSDI 2019, 5.3: each request is
// executed once, and datagrams that come out of order are as good as lost).
#ifndef SKEIN_BENCH_SIM_UD_SERVER_SESSION_H_
#define SKEIN_BENCH_SIM_UD_SERVER_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/sim/ud/datagram.h"

namespace skein::bench {

class UdServerSession {
 public:
  enum class Verdict : uint8_t {
    kDrop,     // of a request that has been answered, or one before it is missing
    kAnswer,   // it came before, or more of the request or of the response is to come
    kExecute,  // the request is complete; then answer
  };

  UdServerSession(const Exchange& exchange, size_t slots) : exchange_(exchange), slots_(slots) {}

  const Exchange& exchange() const { return exchange_; }

  Verdict OnDatagram(const Datagram& datagram) {
    Slot& slot = slots_[datagram.slot];
    if (datagram.request == slot.request + 1 && datagram.number == 0) slot = {datagram.request, 0};
    if (datagram.request != slot.request || datagram.number > slot.received) return Verdict::kDrop;
    if (datagram.number < slot.received) return Verdict::kAnswer;
    ++slot.received;
    return slot.received == exchange_.requests() ? Verdict::kExecute : Verdict::kAnswer;
  }

 private:
  struct Slot {
    uint64_t request = 0;
    size_t received = 0;  // of its datagrams
  };

  const Exchange exchange_;
  std::vector<Slot> slots_;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_UD_SERVER_SESSION_H_
