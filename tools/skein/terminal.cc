#include "tools/skein/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/numbers.h"

namespace skein {

size_t TerminalWidth() {
  if (isatty(STDOUT_FILENO) == 0) return 0;
  size_t columns = 0;
  const char* const set = std::getenv("COLUMNS");
  if (set != nullptr && absl::SimpleAtoi(set, &columns) && columns > 0) return columns;
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;  // as terminals have been since they did not say
}

}  // namespace skein
