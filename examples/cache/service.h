// The cache as a service: its calls, and what their bytes mean. Both ends are on machines of the same byte order.
//   get      key                                        the value
//   set      lifetime in ms (u32; 0: for ever),         nothing
//            key's size (u32), key, value
//   delete   key                                        nothing
#ifndef SKEIN_EXAMPLES_CACHE_SERVICE_H_
#define SKEIN_EXAMPLES_CACHE_SERVICE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "examples/cache/cache.h"
#include "examples/rpc_program.h"

namespace skein::cache {

inline constexpr size_t kMaxKey = 250;  // memcached's
inline constexpr size_t kMaxValue = 128 << 10;
enum Call : uint32_t { kGet = 1, kSet = 2, kDelete = 3 };

std::string SetRequest(absl::string_view key, absl::string_view value, uint32_t lifetime_ms);

// `cache` outlives them. INVALID_ARGUMENT: a malformed request, too long a key or a value.
examples::Functions FunctionsOf(Cache& cache);

}  // namespace skein::cache

#endif  // SKEIN_EXAMPLES_CACHE_SERVICE_H_
