// The parameters of one server, and its calls (messages.h).
#ifndef SKEIN_EXAMPLES_PARAMETERS_SERVICE_H_
#define SKEIN_EXAMPLES_PARAMETERS_SERVICE_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "examples/parameters/messages.h"
#include "examples/rpc_program.h"

namespace skein::parameters {

// One thread.
class Parameters {
 public:
  explicit Parameters(size_t max) : max_(max) {}

  // All of it or nothing. RESOURCE_EXHAUSTED: more parameters than the server may hold.
  absl::Status Add(const Push& push);
  Values Get(const Keys& keys) const;

 private:
  const size_t max_;
  absl::flat_hash_map<uint64_t, float> values_;
};

// `parameters` outlive them.
examples::Functions FunctionsOf(Parameters& parameters);

}  // namespace skein::parameters

#endif  // SKEIN_EXAMPLES_PARAMETERS_SERVICE_H_
