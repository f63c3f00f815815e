// What all links of the process have sent and received: read out of them when somebody asks, so that counting costs
// them next to nothing.
#ifndef SKEIN_CORE_LINK_LINK_STATISTICS_H_
#define SKEIN_CORE_LINK_LINK_STATISTICS_H_

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "core/base/mutex.h"
#include "core/trace/counters.h"

namespace skein::link {

class Link;

// Of a link; only grows.
struct Traffic {
  uint64_t messages_sent = 0;
  uint64_t messages_received = 0;
  uint64_t bytes_sent = 0;  // in the ring, headers included
  uint64_t bytes_received = 0;
  uint64_t coalesced = 0;  // messages that carried several senders' bytes

  Traffic& operator+=(const Traffic& other);
};

// Any thread. Lock: mu_, before the sender's place.
class LinkStatistics {
 public:
  // The process's; its numbers are among trace::ReadCounters(). Never destroyed.
  static LinkStatistics& Get();

  void Add(const Link* link) ABSL_LOCKS_EXCLUDED(mu_);
  // Its numbers stay. By its destructor, at the latest.
  void Remove(const Link* link) ABSL_LOCKS_EXCLUDED(mu_);
  void AddTo(trace::CounterSnapshot& counters) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  Mutex mu_;
  absl::flat_hash_set<const Link*> links_ ABSL_GUARDED_BY(mu_);
  std::array<Traffic, trace::kPaths> ended_ ABSL_GUARDED_BY(mu_);  // of links that are gone, by path
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_LINK_STATISTICS_H_
