// What a process has done between two looks at it.
#ifndef SKEIN_TOOLS_SKEIN_ACTIVITY_H_
#define SKEIN_TOOLS_SKEIN_ACTIVITY_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace skein {

struct Activity {
  pid_t process = 0;
  std::string name;
  std::map<std::string, int> connections;  // by path
  // Each second.
  double messages_sent = 0;
  double messages_received = 0;
  double bytes_sent = 0;
  double bytes_received = 0;
  double wake_ups = 0;
  // None: there was nothing of which this could be a part.
  std::optional<double> coalesced_percent;
  std::optional<double> spins_hit_percent;
  // Of its busiest traced calls; 0: none.
  uint64_t p50_ns = 0;
  uint64_t p99_ns = 0;
};

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_ACTIVITY_H_
