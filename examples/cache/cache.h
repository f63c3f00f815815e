// Values by key, for a while, in a bounded memory: a value that nobody has used for longest gives way to a new one.
#ifndef SKEIN_EXAMPLES_CACHE_CACHE_H_
#define SKEIN_EXAMPLES_CACHE_CACHE_H_

#include <cstddef>
#include <list>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace skein::cache {

// One thread.
class Cache {
 public:
  // A value takes its bytes, its key's and about as much as the lists that hold it.
  static constexpr size_t kOverhead = 160;

  explicit Cache(size_t memory) : free_(memory) {}

  // The value stays valid until the next Set or Delete. NOT_FOUND, also when its time is over.
  absl::StatusOr<absl::string_view> Get(absl::string_view key, absl::Time now);
  // RESOURCE_EXHAUSTED: it does not fit even alone; then the key has no value any more, rather than an old one.
  absl::Status Set(absl::string_view key, absl::string_view value, absl::Time expires);
  // NOT_FOUND.
  absl::Status Delete(absl::string_view key);

 private:
  struct Item {
    std::string key;
    std::string value;
    absl::Time expires;
  };
  using Items = std::list<Item>;

  static size_t SizeOf(absl::string_view key, absl::string_view value) { return key.size() + value.size() + kOverhead; }
  void Drop(Items::iterator item);

  size_t free_;
  Items items_;                                                     // the one used last is the first
  absl::flat_hash_map<absl::string_view, Items::iterator> by_key_;  // keys are the items' own
};

}  // namespace skein::cache

#endif  // SKEIN_EXAMPLES_CACHE_CACHE_H_
