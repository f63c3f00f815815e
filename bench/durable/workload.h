// An application's requests to the receiver, step by step, and their objects, from one seed.
#ifndef SKEIN_BENCH_DURABLE_WORKLOAD_H_
#define SKEIN_BENCH_DURABLE_WORKLOAD_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/fabric/sim/random.h"

namespace skein::bench::durable {

struct Operation {
  uint32_t object = 0;
  uint32_t is_write = 0;
  uint64_t object_bytes = 0;
};

// On the wire: what is asked, and a write's object.
inline std::string RequestOf(const Operation& operation) {
  std::string bytes(sizeof(operation) + (operation.is_write != 0 ? operation.object_bytes : 0), 'o');
  std::memcpy(bytes.data(), &operation, sizeof(operation));
  return bytes;
}
inline size_t RequestBytes(const Operation& operation) {
  return sizeof(operation) + (operation.is_write != 0 ? operation.object_bytes : 0);
}
inline size_t ReplyBytes(const Operation& operation) { return operation.is_write != 0 ? 8 : operation.object_bytes; }
inline Operation OperationOf(absl::string_view request) {
  Operation operation;
  std::memcpy(&operation, request.data(), std::min(request.size(), sizeof(operation)));
  return operation;
}

// Requests that an application sends together: with one flush, or one post.
struct Step {
  std::vector<Operation> requests;
  absl::Duration thinks;    // the application's time before it sends them
  absl::Duration computes;  // and on each answer
  bool waits = true;        // until nothing is under way; else until less than Scenario::ahead is
  bool ends = true;         // the application's operation, once all its requests are over
};

class Workload {
 public:
  virtual ~Workload() = default;
  // nullopt: the application has ended.
  virtual std::optional<Step> Next(fabric::sim::Random& random) = 0;
};

// Object i is asked for in proportion to 1 / (i + 1)^skew.
class Zipfian {
 public:
  Zipfian(uint64_t objects, double skew) : cumulative_(objects) {
    double sum = 0;
    for (uint64_t i = 0; i < objects; ++i) cumulative_[i] = sum += std::pow(static_cast<double>(i + 1), -skew);
    for (double& part : cumulative_) part /= sum;
  }
  uint32_t Draw(fabric::sim::Random& random) const {
    const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), random.Fraction());
    return static_cast<uint32_t>(std::min<size_t>(found - cumulative_.begin(), cumulative_.size() - 1));
  }

 private:
  std::vector<double> cumulative_;
};

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_WORKLOAD_H_
