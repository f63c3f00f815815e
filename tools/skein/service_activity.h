// What a skeind has done between two looks at it, of the metrics that it tells.
#ifndef SKEIN_TOOLS_SKEIN_SERVICE_ACTIVITY_H_
#define SKEIN_TOOLS_SKEIN_SERVICE_ACTIVITY_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/trace/metric_family.h"
#include "core/trace/service_metrics.h"

namespace skein {

// A skeind's numbers as of one moment: those that have the same labels together.
class ServiceNumbers {
 public:
  using Labels = std::map<std::string, std::string>;

  explicit ServiceNumbers(const trace::MetricFamilies& families);

  // 0: there is none.
  double Value(const Labels& labels, trace::ServiceMetric metric) const;
  // All that a number of that metric has.
  std::vector<Labels> Having(trace::ServiceMetric metric) const;

 private:
  std::map<std::pair<std::string, Labels>, double> values_;
};

// Of a process that uses skeind, or of one of its virtual queue pairs.
struct ServiceClient {
  std::string user;
  std::string client;      // its number, "ended" or "others"
  std::string queue_pair;  // empty: all of them
  std::string peer;        // of a queue pair
  // Each second.
  double requests = 0;
  double request_bytes = 0;
  double arrivals = 0;
  double arrived_bytes = 0;
  double refusals = 0;
  // Now.
  double queue_pairs = 0;
  double registered_bytes = 0;
  double under_way = 0;
};

struct ServicePeer {
  std::string host;
  // Now.
  double trunks = 0;
  double queue_pairs = 0;
  double under_way = 0;
  double waits = 0;  // each second
};

struct ServiceActivity {
  pid_t process = 0;  // skeind's
  // Each second.
  double turns = 0;
  double sleeps = 0;
  double wakes = 0;
  // Those with most bytes each second first; of as many, those with most messages.
  std::vector<ServiceClient> clients;
  std::vector<ServicePeer> peers;
};

// Of all processes, or of all virtual queue pairs. `seconds`: between the two; 0: rates are unknown,
// and 0.
ServiceActivity ServiceActivityBetween(pid_t process, const ServiceNumbers& before, const ServiceNumbers& now,
                                       bool of_queue_pairs, double seconds);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_SERVICE_ACTIVITY_H_
