#include "examples/cache/cache.h"

#include <iterator>

namespace skein::cache {

absl::StatusOr<absl::string_view> Cache::Get(absl::string_view key, absl::Time now) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return absl::NotFoundError("no such key");
  const Items::iterator item = found->second;
  if (item->expires <= now) {
    Drop(item);
    return absl::NotFoundError("no such key");
  }
  items_.splice(items_.begin(), items_, item);
  return item->value;
}

absl::Status Cache::Set(absl::string_view key, absl::string_view value, absl::Time expires) {
  if (const auto found = by_key_.find(key); found != by_key_.end()) Drop(found->second);
  const size_t size = SizeOf(key, value);
  while (size > free_ && !items_.empty()) Drop(std::prev(items_.end()));
  if (size > free_) return absl::ResourceExhaustedError("larger than the whole cache");
  items_.push_front({std::string(key), std::string(value), expires});
  by_key_.emplace(items_.front().key, items_.begin());
  free_ -= size;
  return absl::OkStatus();
}

absl::Status Cache::Delete(absl::string_view key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return absl::NotFoundError("no such key");
  Drop(found->second);
  return absl::OkStatus();
}

void Cache::Drop(Items::iterator item) {
  free_ += SizeOf(item->key, item->value);
  by_key_.erase(item->key);
  items_.erase(item);
}

}  // namespace skein::cache
