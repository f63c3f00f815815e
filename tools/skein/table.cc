#include "tools/skein/table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/base/printable.h"
#include "tools/skein/wrapped.h"

namespace skein {
namespace {

// Of a cell, which is cut: all other rows are filled up to it. Addresses and names of intervals are shorter.
constexpr size_t kMostCellWidth = 120;
// Of a cell that goes on below itself to its end: each line is as wide as all columns.
constexpr size_t kMostLinesText = 1000;
// To which columns are narrowed for the last one's sake, and what that one is to have.
constexpr size_t kLeastCellWidth = 12;
constexpr size_t kLastCellWidth = 24;
constexpr absl::string_view kBetweenColumns = "  ";
constexpr absl::string_view kCut = "...";

std::string Cut(std::string text, size_t width) {
  if (text.size() <= width) return text;
  if (width < kCut.size()) return text.substr(0, width);
  return absl::StrCat(text.substr(0, width - kCut.size()), kCut);
}

// Of each column but the last, with its gap.
std::vector<size_t> WidthsOf(const std::vector<std::vector<std::string>>& rows, size_t& last) {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    if (row.empty()) continue;
    widths.resize(std::max(widths.size(), row.size() - 1));
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      widths[i] = std::max(widths[i], std::min(row[i].size(), kMostCellWidth) + kBetweenColumns.size());
    }
    last = std::max(last, row.back().size());
  }
  return widths;
}

// The widest first, until the last column has space behind the others.
void Narrow(std::vector<size_t>& widths, size_t last, size_t width) {
  size_t needed = std::min(last, kLastCellWidth);
  for (const size_t each : widths) needed += each;
  for (; needed > width; --needed) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (widest == widths.end() || *widest <= kLeastCellWidth + kBetweenColumns.size()) return;
    --*widest;
  }
}

std::vector<std::string> LinesOf(const std::string& cell, size_t width) {
  if (cell.size() <= width) return {cell};
  return absl::StrSplit(Wrapped(cell, 0, width), '\n');
}

// As many lines as its highest cell has.
std::string Lines(const std::vector<std::string>& row, const std::vector<size_t>& widths, size_t width) {
  std::vector<std::string> lines(1);
  size_t column = 0;
  const auto add = [&](const std::vector<std::string>& cell) {
    lines.resize(std::max(lines.size(), cell.size()));
    for (size_t i = 0; i < cell.size(); ++i) {
      lines[i].resize(column, ' ');
      lines[i] += cell[i];
    }
  };
  for (size_t i = 0; i + 1 < row.size(); ++i) {
    add(LinesOf(Cut(row[i], kMostCellWidth), widths[i] - kBetweenColumns.size()));
    column += widths[i];
  }
  if (!row.empty()) {
    const std::string last = width == 0 ? row.back() : Cut(row.back(), kMostLinesText);
    const bool is_left = width == 0 || column + kLeastCellWidth > width;  // as it is
    add(LinesOf(last, is_left ? last.size() : width - column));
  }
  std::string text;
  for (std::string& line : lines) absl::StrAppend(&text, width == 0 ? line : Cut(std::move(line), width), "\n");
  return text;
}

}  // namespace

std::string Table(std::vector<std::vector<std::string>> rows, size_t width) {
  for (std::vector<std::string>& row : rows) {
    for (std::string& cell : row) cell = Printable(std::move(cell));
  }
  size_t last = 0;
  std::vector<size_t> widths = WidthsOf(rows, last);
  if (width > 0) Narrow(widths, last, width);
  std::string text;
  for (const std::vector<std::string>& row : rows) text += Lines(row, widths, width);
  return text;
}

}  // namespace skein
