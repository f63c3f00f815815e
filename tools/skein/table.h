// Rows of text as columns, as wide as what is in them, within bounds.
#ifndef SKEIN_TOOLS_SKEIN_TABLE_H_
#define SKEIN_TOOLS_SKEIN_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace skein {

// The first row is the heading. All of it is made printable. The last cell of a row may be of any width.
//
// No line is longer than `width`, which is a terminal's (0: any): wide columns become narrower, whose cells go on below
// themselves; where that is not enough, lines are cut.
std::string Table(std::vector<std::vector<std::string>> rows, size_t width = 0);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_TABLE_H_
