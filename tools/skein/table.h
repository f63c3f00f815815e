// Rows of text as columns, as wide as what is in them, within bounds.
#ifndef SKEIN_TOOLS_SKEIN_TABLE_H_
#define SKEIN_TOOLS_SKEIN_TABLE_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/printable.h"

namespace skein {

// Of a cell, which is cut: all other rows are filled up to it. Addresses and names of intervals are shorter.
inline constexpr size_t kMostCellWidth = 120;

// The first row is the heading. All of it is made printable. The last cell of a row may be of any width.
inline std::string Table(std::vector<std::vector<std::string>> rows) {
  std::vector<size_t> widths;
  for (std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = Printable(std::move(row[i]));
      if (i + 1 == row.size()) break;  // nothing is filled up behind it
      if (row[i].size() > kMostCellWidth) row[i].replace(kMostCellWidth - 3, row[i].npos, "...");
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
