#include "tools/skein/stacked_bar.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace skein {
namespace {

constexpr double kWidth = 960;
constexpr double kHeight = 26;
constexpr double kTitle = 20;
constexpr double kLine = 16;
constexpr double kMargin = 14;
constexpr double kNarrowest = 46;  // that has room for a number
constexpr size_t kColumns = 3;     // of the legend

// A shade of its colour for each part, so that neighbours can be told apart.
std::string ColorOf(const std::string& work, size_t number) {
  constexpr std::array<std::pair<const char*, int>, 4> kHues = {
      {{"software", 212}, {"wire", 32}, {"handler", 130}, {"mixed", 280}}};
  int hue = 0;
  for (const auto& [name, its] : kHues) {
    if (work == name) hue = its;
  }
  return absl::StrFormat("hsl(%d,60%%,%d%%)", hue, 48 + 14 * static_cast<int>(number % 3));
}

// Methods have any bytes.
std::string Escaped(std::string text) {
  for (char& letter : text) letter = letter < ' ' || letter > '~' ? '?' : letter;
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

double LengthOf(const StackedBar& bar) {
  double length = 0;
  for (const StackedBar::Part& part : bar.parts) length += part.length;
  return length;
}

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, Escaped(text));
}

double HeightOf(const StackedBar& bar) {
  const size_t lines = (bar.parts.size() + kColumns - 1) / kColumns;
  return kTitle + kHeight + 4 + kLine * static_cast<double>(lines) + kMargin;
}

std::string Draw(const StackedBar& bar, double y, double scale, const std::string& unit) {
  std::string svg =
      Text(kMargin, y + kTitle - 6, "start", absl::StrFormat("%s: %.2f %s", bar.title, LengthOf(bar), unit));
  double x = kMargin;
  for (size_t i = 0; i < bar.parts.size(); ++i) {
    const StackedBar::Part& part = bar.parts[i];
    const double width = part.length * scale;
    absl::StrAppendFormat(&svg, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x,
                          y + kTitle, width, kHeight, ColorOf(part.work, i));
    if (width >= kNarrowest) {
      svg += Text(x + width / 2, y + kTitle + kHeight - 8, "middle", absl::StrFormat("%.2f", part.length));
    }
    x += width;
    const double column = kWidth / kColumns * static_cast<double>(i % kColumns);
    const size_t row = i / kColumns;
    const double line = y + kTitle + kHeight + 4 + kLine * static_cast<double>(row);
    absl::StrAppendFormat(&svg, "<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" fill=\"%s\"/>\n",
                          kMargin + column, line + 2, ColorOf(part.work, i));
    svg += Text(kMargin + column + 15, line + 11, "start",
                absl::StrFormat("%s (%s) %.2f", part.name, part.work, part.length));
  }
  return svg;
}

}  // namespace

std::string DrawStackedBars(const std::vector<StackedBar>& bars, const std::string& unit) {
  double longest = 0;
  double height = kMargin;
  for (const StackedBar& bar : bars) {
    longest = std::max(longest, LengthOf(bar));
    height += HeightOf(bar);
  }
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      kWidth + 2 * kMargin, height);
  double y = kMargin / 2;
  for (const StackedBar& bar : bars) {
    svg += Draw(bar, y, longest > 0 ? kWidth / longest : 0, unit);
    y += HeightOf(bar);
  }
  return svg + "</svg>\n";
}

}  // namespace skein
