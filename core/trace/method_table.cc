#include "core/trace/method_table.h"

namespace skein::trace {

MethodTable::MethodTable() : size_(kOtherMethods + 1) {
  names_[kOtherMethods] = "other";
  numbers_ = {{names_[kNoMethod], kNoMethod}, {names_[kOtherMethods], kOtherMethods}};
}

uint32_t MethodTable::Intern(absl::string_view name) {
  name = name.substr(0, kMostBytes);
  MutexLock lock(&mu_);
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  const uint32_t number = size_.load(std::memory_order_relaxed);  // changed under the lock alone
  if (number == kMostMethods) return kOtherMethods;
  names_[number] = std::string(name);
  numbers_.emplace(names_[number], number);
  size_.store(number + 1, std::memory_order_release);
  return number;
}

absl::string_view MethodTable::Name(uint32_t method) const {
  return names_[method < size_.load(std::memory_order_acquire) ? method : kOtherMethods];
}

}  // namespace skein::trace
