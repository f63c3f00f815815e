// Levenshtein's distance, and the nearest name by it, for "did you mean".
#ifndef SKEIN_CORE_BASE_EDIT_DISTANCE_H_
#define SKEIN_CORE_BASE_EDIT_DISTANCE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace skein {

inline size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({row[j] + 1, row[j + 1] + 1, replaced}));
    }
  }
  return row.back();
}

// The known name that `name` is a slip of; empty where `name` is like none of them. The function looks only at the
// beginning of a long name: nobody mistypes a known name that much.
inline absl::string_view NearestName(absl::string_view name, absl::Span<const absl::string_view> known) {
  name = name.substr(0, 32);
  absl::string_view nearest;
  size_t least = SIZE_MAX;
  for (const absl::string_view each : known) {
    const size_t distance = EditDistance(name, each);
    if (distance >= least || 2 * distance > std::max(name.size(), each.size())) continue;
    nearest = each;
    least = distance;
  }
  return nearest;
}

}  // namespace skein

#endif  // SKEIN_CORE_BASE_EDIT_DISTANCE_H_
