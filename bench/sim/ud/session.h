// A client thread's session with one core of the server (eRPC, NSDI 2019, 4.3 and 5): slots for requests, credits for
// datagrams, their retransmission, and the rate at which a congested session sends.
//
//   Begin -> a slot, or waiting_ -> credit -> Port::Send, or paced_ until its time -> OnAnswer: credit, round trip time
//
// A lost datagram is one whose answer does not come: the slot goes back to it, and sends all from there on again.
#ifndef SKEIN_BENCH_SIM_UD_SESSION_H_
#define SKEIN_BENCH_SIM_UD_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "bench/sim/costs.h"
#include "bench/sim/ud/datagram.h"
#include "bench/sim/ud/timely.h"

namespace skein::bench {

class UdSession {
 public:
  // The thread that has the session: it sends, and does the session's work.
  class Port {
   public:
    virtual ~Port() = default;
    virtual absl::Time time() const = 0;
    virtual void Spend(absl::Duration work) = 0;
    virtual void Send(const Datagram& datagram) = 0;
  };

  // All requests are like `exchange`. `link` is in bytes a second.
  UdSession(Port& port, const UdCosts& costs, const Exchange& exchange, double link);

  void Begin();
  // When the request was begun that this answer completes, if it does.
  std::optional<absl::Time> OnAnswer(const Datagram& answer);
  // Sends paced datagrams whose time has come. Returns when the next one's does.
  absl::Time SendDue();
  // Sends again what has waited for its answer for too long.
  void Retransmit();

  size_t credits() const { return credits_; }
  const Timely& timely() const { return timely_; }
  uint64_t retransmissions() const { return retransmissions_; }

 private:
  struct Slot {
    bool busy = false;
    absl::Time begun;
    uint64_t request = 0;
    size_t sent = 0;
    size_t answered = 0;
    absl::Time progress;           // of either, last
    std::vector<absl::Time> when;  // each was sent
  };
  struct Paced {
    absl::Time due;
    size_t slot = 0;
    size_t number = 0;
  };

  void Occupy(Slot& slot, absl::Time begun);
  void Advance();
  void SendNext(size_t slot);
  void Transmit(size_t slot, size_t number);
  void Sample(absl::Duration round_trip);
  bool Paces(size_t slot) const;

  Port& port_;
  const UdCosts& costs_;
  const Exchange exchange_;
  Timely timely_;
  size_t credits_;
  std::vector<Slot> slots_;
  std::deque<absl::Time> waiting_;  // for a slot: when they were begun
  std::deque<Paced> paced_;
  absl::Time next_ = absl::InfinitePast();  // from when on the rate lets it send
  uint64_t retransmissions_ = 0;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_UD_SESSION_H_
