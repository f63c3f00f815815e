// Numbers as people read them.
#ifndef SKEIN_TOOLS_SKEIN_SCALED_H_
#define SKEIN_TOOLS_SKEIN_SCALED_H_

#include <cstddef>
#include <iterator>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace skein {

// "9999", "12.3k", "120M"
inline std::string Scaled(double number) {
  constexpr absl::string_view kUnits[] = {"", "k", "M", "G", "T"};
  size_t unit = 0;
  for (; number >= 10000 && unit + 1 < std::size(kUnits); ++unit) number /= 1000;
  const int digits = number < 100 && unit > 0 ? 1 : 0;
  return absl::StrFormat("%.*f%s", digits, number, kUnits[unit]);
}

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_SCALED_H_
