// Rows of text as columns, as wide as what is in them.
#ifndef SKEIN_TOOLS_SKEIN_TABLE_H_
#define SKEIN_TOOLS_SKEIN_TABLE_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/printable.h"

namespace skein {

// The first row is the heading. All of it is made printable.
inline std::string Table(std::vector<std::vector<std::string>> rows) {
  std::vector<size_t> widths;
  for (std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = Printable(std::move(row[i]));
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      absl::StrAppend(&text, row[i], std::string(widths[i] - row[i].size() + 2, ' '));
    }
    absl::StrAppend(&text, row.empty() ? "" : row.back(), "\n");
  }
  return text;
}

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_TABLE_H_
