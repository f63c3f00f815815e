// Levenshtein's distance, for "did you mean".
#ifndef SKEIN_CORE_BASE_EDIT_DISTANCE_H_
#define SKEIN_CORE_BASE_EDIT_DISTANCE_H_

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

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

}  // namespace skein

#endif  // SKEIN_CORE_BASE_EDIT_DISTANCE_H_
