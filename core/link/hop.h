// When a message went on its way, and when one came: known while tracing is on (core/trace), for who traces calls.
#ifndef SKEIN_CORE_LINK_HOP_H_
#define SKEIN_CORE_LINK_HOP_H_

#include <cstdint>

namespace skein::link {

// Times are ns of CLOCK_MONOTONIC; 0: not known.
struct Departure {
  uint64_t led = 0;     // a leader took it
  uint64_t posted = 0;  // the WRITE was about to be posted
  uint16_t degree = 0;  // messages of how many senders it carried
};
struct Arrival {
  uint64_t posted = 0;   // by the peer's clock, and its word alone
  uint64_t arrived = 0;  // the poll saw it
};

// Of what this thread has sent last by Link::Send, while tracing was on.
extern constinit thread_local Departure last_departure;

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_HOP_H_
