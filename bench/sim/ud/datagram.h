// What eRPC sends over UD (NSDI 2019, 5.1). A request is one or more datagrams, a response too, and the client drives
// both: the server answers each of the client's datagrams with one of its own.
//
//   client                                   server
//   request 0 .. n-2           ->            credit return, without bytes, for each
//   request n-1                ->            response 0
//   request for response 1 ..  ->            response 1 .. m-1
//
// So the k-th answer says that the k-th datagram has come, and gives its credit back.
#ifndef SKEIN_BENCH_SIM_UD_DATAGRAM_H_
#define SKEIN_BENCH_SIM_UD_DATAGRAM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace skein::bench {

class UdQueuePair;

struct Datagram {
  UdQueuePair* from = nullptr;  // answers go there
  size_t session = 0;           // of the server's core
  size_t slot = 0;              // of the session: one request at a time
  uint64_t request = 0;         // the slot's so manieth, from 1 on
  size_t number = 0;            // of the client's datagram for it, or of the one this answers
  size_t bytes = 0;             // without eRPC's header
  // Where requests differ:
  size_t answer_bytes = 0;
  absl::Duration work = {};  // of the server, beyond a handler's
};

// A request and its response, in datagrams of at most `largest` bytes.
struct Exchange {
  size_t request_bytes = 0;
  size_t response_bytes = 0;
  size_t largest = 1;

  size_t requests() const { return Datagrams(request_bytes); }
  size_t responses() const { return Datagrams(response_bytes); }
  size_t datagrams() const { return requests() + responses() - 1; }  // of the client; as many answers
  size_t RequestBytes(size_t number) const { return BytesOf(request_bytes, number); }
  size_t AnswerBytes(size_t number) const {
    return number + 1 < requests() ? 0 : BytesOf(response_bytes, number + 1 - requests());
  }

 private:
  size_t Datagrams(size_t bytes) const { return std::max<size_t>((bytes + largest - 1) / largest, 1); }
  size_t BytesOf(size_t bytes, size_t number) const {
    return bytes - std::min(bytes, number * largest) < largest ? bytes - std::min(bytes, number * largest) : largest;
  }
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_UD_DATAGRAM_H_
