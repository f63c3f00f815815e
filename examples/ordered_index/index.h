// Numbers in the order of their keys, and their calls. Both ends are on machines of the same byte order; all are u64.
//   put      key, value        nothing
//   get      key               the value
//   scan     from, limit       keys and values in turn: the first `limit` from `from` on
//   count    from, limit       how many that are
#ifndef SKEIN_EXAMPLES_ORDERED_INDEX_INDEX_H_
#define SKEIN_EXAMPLES_ORDERED_INDEX_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "examples/rpc_program.h"

namespace skein::ordered_index {

inline constexpr uint64_t kMaxScan = 4096;
enum Call : uint32_t { kPut = 1, kGet = 2, kScan = 3, kCount = 4 };

using Entry = std::pair<uint64_t, uint64_t>;

// One thread.
class Index {
 public:
  explicit Index(size_t max) : max_(max) {}

  // RESOURCE_EXHAUSTED: another key is one too many.
  absl::Status Put(uint64_t key, uint64_t value);
  // NOT_FOUND.
  absl::StatusOr<uint64_t> Get(uint64_t key) const;
  std::vector<Entry> Scan(uint64_t from, uint64_t limit) const;
  // Goes the same way without bringing anything.
  uint64_t Count(uint64_t from, uint64_t limit) const;

 private:
  const size_t max_;
  absl::btree_map<uint64_t, uint64_t> entries_;
};

std::string Request(std::initializer_list<uint64_t> words);
// INVALID_ARGUMENT: not as many.
absl::StatusOr<std::vector<uint64_t>> WordsOf(absl::string_view bytes, size_t count);
// A reply to a scan. DATA_LOSS: no whole entries.
absl::StatusOr<std::vector<Entry>> EntriesOf(absl::string_view bytes);

// `index` outlives them. INVALID_ARGUMENT: a malformed request, a scan of too much.
examples::Functions FunctionsOf(Index& index);

}  // namespace skein::ordered_index

#endif  // SKEIN_EXAMPLES_ORDERED_INDEX_INDEX_H_
