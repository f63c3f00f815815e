// How the systems that SC'21 compares exchange a request and a reply (fig. 2), as data.
#ifndef SKEIN_BENCH_DURABLE_EXCHANGE_H_
#define SKEIN_BENCH_DURABLE_EXCHANGE_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace skein::bench::durable {

enum class Way : uint8_t {
  kSend,         // SEND into a receive
  kWrite,        // WRITE into a slot whose last word is polled
  kWriteTwice,   // WRITE of the data, WRITE of a word that makes it valid
  kWriteNotify,  // WRITE_WITH_IMM
  kReadByPeer,   // left in a slot, which the peer READs until it is there
};

struct Exchange {
  absl::string_view name;
  Way request;
  Way reply;
  size_t warm_up_every = 0;  // so many requests, one is announced by a WRITE and fetched by the receiver's READ
  bool persists = true;      // the receiver's CPU persists before it replies
  size_t largest_object = ~size_t{0};
};

inline constexpr Exchange kExchanges[] = {
    {.name = "DaRPC", .request = Way::kSend, .reply = Way::kSend},
    // On UD in the paper, which an RC fabric has not: SENDs that need no acknowledgement there are acknowledged here.
    {.name = "FaSST", .request = Way::kSend, .reply = Way::kSend, .largest_object = 4096},
    {.name = "FaRM", .request = Way::kWrite, .reply = Way::kWrite},
    {.name = "L5", .request = Way::kWriteTwice, .reply = Way::kWrite},
    {.name = "RFP", .request = Way::kWrite, .reply = Way::kReadByPeer},
    {.name = "Octopus", .request = Way::kWriteNotify, .reply = Way::kWriteNotify},
    {.name = "ScaleRPC", .request = Way::kWrite, .reply = Way::kWrite, .warm_up_every = 101},
    // core/rpc's: a WRITE into a ring each way; nothing is made durable.
    {.name = "core/rpc", .request = Way::kWrite, .reply = Way::kWrite, .persists = false},
};

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_EXCHANGE_H_
