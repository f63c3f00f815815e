// The calling end: the parameters of several servers as one.
#ifndef SKEIN_EXAMPLES_PARAMETERS_WORKER_H_
#define SKEIN_EXAMPLES_PARAMETERS_WORKER_H_

#include <skein/rpc.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "examples/parameters/messages.h"

namespace skein::parameters {

// One thread. All servers are asked at once. Keys ascend. Errors are the first that a server gave; others may have
// done their part.
class Worker {
 public:
  // At least one address, in the same order at every worker.
  static absl::StatusOr<Worker> Connect(const std::vector<std::string>& addresses);

  absl::Status Push(absl::Span<const uint64_t> keys, absl::Span<const float> values);
  absl::StatusOr<Values> Pull(absl::Span<const uint64_t> keys);

 private:
  using Servers = std::vector<std::unique_ptr<rpc::Connection>>;

  explicit Worker(Servers servers) : servers_(std::move(servers)) {}
  // Request i to server i.
  absl::StatusOr<std::vector<std::string>> CallAll(Call call, const std::vector<std::string>& requests);

  Servers servers_;
};

}  // namespace skein::parameters

#endif  // SKEIN_EXAMPLES_PARAMETERS_WORKER_H_
