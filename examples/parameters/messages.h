// What a worker and a parameter server say. Both ends are on machines of the same byte order.
//   push     count (u64), as many keys (u64), as many values (float)     nothing; each value is added to its key's
//   pull     keys (u64)                                                  their values (float), 0 for a new key
// Keys ascend. A key's server is its remainder by the number of servers.
#ifndef SKEIN_EXAMPLES_PARAMETERS_MESSAGES_H_
#define SKEIN_EXAMPLES_PARAMETERS_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace skein::parameters {

using Keys = std::vector<uint64_t>;
using Values = std::vector<float>;
enum Call : uint32_t { kPush = 1, kPull = 2 };

struct Push {
  Keys keys;
  Values values;
};

// INVALID_ARGUMENT: not whole; keys that do not ascend; values that are no numbers.
absl::StatusOr<Push> DecodePush(absl::string_view request);
absl::StatusOr<Keys> DecodePull(absl::string_view request);

// A request for each server. As many values as keys.
std::vector<std::string> PushRequests(absl::Span<const uint64_t> keys, absl::Span<const float> values, size_t servers);
std::vector<std::string> PullRequests(absl::Span<const uint64_t> keys, size_t servers);

// The values of `keys`, by what each server replied. DATA_LOSS: some server told more values or fewer.
absl::StatusOr<Values> Join(absl::Span<const uint64_t> keys, absl::Span<const std::string> replies);

}  // namespace skein::parameters

#endif  // SKEIN_EXAMPLES_PARAMETERS_MESSAGES_H_
