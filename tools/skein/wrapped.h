// Text in lines of a certain length.
#ifndef SKEIN_TOOLS_SKEIN_WRAPPED_H_
#define SKEIN_TOOLS_SKEIN_WRAPPED_H_

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace skein {

// Lines of `width` letters at most, broken at blanks, and within words that are longer than a line. The first line
// begins in column `indent`, where the caller has left off; blanks lead the others there. As it is where no letter
// would have space.
inline std::string Wrapped(absl::string_view text, size_t indent, size_t width) {
  if (width <= indent) return std::string(text);
  const size_t space = width - indent;
  const std::string next_line = absl::StrCat("\n", std::string(indent, ' '));
  std::string lines;
  size_t length = 0;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (length > 0) {
      const bool fits = length + 1 + word.size() <= space;
      lines += fits ? " " : next_line;
      length = fits ? length + 1 : 0;
    }
    for (; word.size() > space; word.remove_prefix(space)) absl::StrAppend(&lines, word.substr(0, space), next_line);
    absl::StrAppend(&lines, word);
    length += word.size();
  }
  return lines;
}

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_WRAPPED_H_
