// A traced call, as programs are told of it: public, and free of everything else that is Skein's.
#ifndef SKEIN_TRACED_H_
#define SKEIN_TRACED_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace skein {

// docs/tracing.md has the names and what they mean.
struct TracedInterval {
  std::string name;                  // "handler"
  std::string work;                  // whose time it is: "software", "wire", "handler" or "mixed"
  std::chrono::nanoseconds begin{};  // since the call's own
  std::chrono::nanoseconds length{};
};

struct TracedCall {
  bool client = true;      // told by the calling end, or by the answering one
  std::string method;      // "/package.Service/Method"; empty where the transport does not know
  std::string path;        // "shm", "rdma" or "tcp"
  uint32_t bytes = 0;      // of the request; 0 where that is not known: a server of gRPC 1.73 and later
  uint16_t coalesced = 1;  // messages of so many threads went out together
  std::chrono::steady_clock::time_point begin;
  // One after the other without gaps: they add up to the whole.
  std::vector<TracedInterval> intervals;
  // The other host's times may be off by so much; 0 on one host.
  std::chrono::nanoseconds clock_error{};
};

// Called on one thread, soon after the program has let go of the call; a slow callback costs records, not calls. Its
// exceptions are ignored. It may use nothing that the process destroys at its end.
using OnTracedCall = std::function<void(const TracedCall&)>;

}  // namespace skein

#endif  // SKEIN_TRACED_H_
