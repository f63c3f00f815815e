// How far a name is from another one, and the nearest name by that, for "did you mean".
#ifndef SKEIN_CORE_BASE_EDIT_DISTANCE_H_
#define SKEIN_CORE_BASE_EDIT_DISTANCE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace skein {

// Letters inserted, deleted, replaced, or swapped with a neighbour: fingers do the last most often.
inline size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::vector<size_t> last(row.size());
  std::vector<size_t> before_last(row.size());
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
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
