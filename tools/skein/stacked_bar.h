// Bars of parts one behind the other.
#ifndef SKEIN_TOOLS_SKEIN_STACKED_BAR_H_
#define SKEIN_TOOLS_SKEIN_STACKED_BAR_H_

#include <string>
#include <vector>

#include "tools/skein/picture.h"

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

// All to one scale; `unit` says of what. Nothing is wider than the picture: long titles are cut, legends are broken.
Picture DrawStackedBars(const std::vector<StackedBar>& bars, const std::string& unit);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_STACKED_BAR_H_
