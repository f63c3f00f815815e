// The terminal that a person reads from.
#ifndef SKEIN_TOOLS_SKEIN_TERMINAL_H_
#define SKEIN_TOOLS_SKEIN_TERMINAL_H_

#include <cstddef>

namespace skein {

// How many letters a line of standard output has space for: as COLUMNS says, or else the terminal. 0: any number, for
// it is no terminal.
size_t TerminalWidth();

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_TERMINAL_H_
