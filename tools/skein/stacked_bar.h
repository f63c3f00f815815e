// Bars of parts one behind the other, as SVG.
#ifndef SKEIN_TOOLS_SKEIN_STACKED_BAR_H_
#define SKEIN_TOOLS_SKEIN_STACKED_BAR_H_

#include <string>
#include <vector>

namespace skein {

struct StackedBar {
  struct Part {
    std::string name;
    std::string work;  // by which it is coloured
    double length = 0;
  };
  std::string title;
  std::vector<Part> parts;
};

// All to one scale; `unit` says of what.
std::string DrawStackedBars(const std::vector<StackedBar>& bars, const std::string& unit);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_STACKED_BAR_H_
