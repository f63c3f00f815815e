#include "tools/skein/stacked_bar.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace skein {
namespace {

constexpr double kMargin = 14;
constexpr double kWidth = 960;  // of the longest bar
constexpr double kHeight = 26;  // of each
constexpr double kLine = 18;
constexpr double kBaseline = 13;  // of a line's text, below its upper edge
constexpr double kSample = 10;    // a colour in the legend
constexpr double kGap = 5;        // between what belongs together
constexpr double kSpace = 20;     // between what does not

struct Hue {
  absl::string_view work;
  Color color;
};
constexpr std::array<Hue, 4> kHues = {{{"software", {0.30, 0.52, 0.80}},
                                       {"wire", {0.85, 0.52, 0.18}},
                                       {"handler", {0.25, 0.64, 0.33}},
                                       {"mixed", {0.58, 0.40, 0.74}}}};

// A shade of its work's colour for each part, so that neighbours can be told apart.
Color ColorOf(const std::string& work, size_t number) {
  Color color = {0.5, 0.5, 0.5};
  for (const Hue& hue : kHues) {
    if (work == hue.work) color = hue.color;
  }
  const double white = 0.22 * static_cast<double>(number % 3);
  const auto mixed = [white](double part) { return part + (1 - part) * white; };
  return {mixed(color.red), mixed(color.green), mixed(color.blue)};
}

double LengthOf(const StackedBar& bar) {
  double length = 0;
  for (const StackedBar::Part& part : bar.parts) length += part.length;
  return length;
}

// Each gives the height at which what comes next begins.
double DrawTitle(Picture& picture, const StackedBar& bar, double y, const std::string& unit) {
  const std::string length = absl::StrFormat(": %.2f %s", LengthOf(bar), unit);
  const std::string title = picture.Fitted(bar.title, kWidth - picture.WidthOf(length));
  picture.Write(kMargin, y + kBaseline, title + length);
  return y + kLine;
}

double DrawParts(Picture& picture, const StackedBar& bar, double y, double scale) {
  double x = kMargin;
  for (size_t i = 0; i < bar.parts.size(); ++i) {
    const double width = bar.parts[i].length * scale;
    picture.Fill({x, y, width, kHeight}, ColorOf(bar.parts[i].work, i));
    const std::string length = absl::StrFormat("%.2f", bar.parts[i].length);
    const double text = picture.WidthOf(length);
    if (text + 2 * kGap <= width) picture.Write(x + (width - text) / 2, y + (kHeight - kLine) / 2 + kBaseline, length);
    x += width;
  }
  return y + kHeight + kGap;
}

double DrawLegend(Picture& picture, const StackedBar& bar, double y) {
  double x = kMargin;
  for (size_t i = 0; i < bar.parts.size(); ++i) {
    const StackedBar::Part& part = bar.parts[i];
    const std::string text =
        picture.Fitted(absl::StrFormat("%s (%s) %.2f", part.name, part.work, part.length), kWidth - kSample - kGap);
    const double width = kSample + kGap + picture.WidthOf(text);
    if (x > kMargin && x + width > kMargin + kWidth) {
      x = kMargin;
      y += kLine;
    }
    picture.Fill({x, y + (kLine - kSample) / 2, kSample, kSample}, ColorOf(part.work, i));
    picture.Write(x + kSample + kGap, y + kBaseline, text);
    x += width + kSpace;
  }
  return y + kLine;
}

}  // namespace

Picture DrawStackedBars(const std::vector<StackedBar>& bars, const std::string& unit) {
  double longest = 0;
  for (const StackedBar& bar : bars) longest = std::max(longest, LengthOf(bar));
  Picture picture(kWidth + 2 * kMargin);
  double y = kMargin;
  for (const StackedBar& bar : bars) {
    y = DrawTitle(picture, bar, y, unit);
    y = DrawParts(picture, bar, y, longest > 0 ? kWidth / longest : 0);
    y = DrawLegend(picture, bar, y) + kMargin;
  }
  picture.set_height(std::max(y, 2 * kMargin));
  return picture;
}

}  // namespace skein
