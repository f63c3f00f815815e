// What the command says of how it is called, in the form of GNU's commands, which help2man reads.
#ifndef SKEIN_TOOLS_SKEIN_HELP_H_
#define SKEIN_TOOLS_SKEIN_HELP_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tools/skein/verb.h"

namespace skein {

// A line.
std::string UsageOf(const Verb& verb);
// With text in lines of `width`.
std::string HelpOf(const Verb& verb, size_t width);
std::string HelpOf(const std::vector<Verb>& verbs, size_t width);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_HELP_H_
