// Values that nobody foresees, and no other process draws as well: each comes from the kernel. (What absl::BitGen draws
// after a fork, each child of the same parent draws.)
#ifndef SKEIN_CORE_BASE_RANDOM_VALUE_H_
#define SKEIN_CORE_BASE_RANDOM_VALUE_H_

#include <cstddef>
#include <type_traits>

namespace skein {

void FillWithRandom(void* bytes, size_t size);

// Of integers and arrays of these. Any thread; about a microsecond.
template <typename Value>
Value RandomValue() {
  static_assert(std::has_unique_object_representations_v<Value>, "each pattern of bits is a value");
  Value value;
  FillWithRandom(&value, sizeof(value));
  return value;
}

}  // namespace skein

#endif  // SKEIN_CORE_BASE_RANDOM_VALUE_H_
