// How an example's program says how it is called.
#ifndef SKEIN_EXAMPLES_USAGE_H_
#define SKEIN_EXAMPLES_USAGE_H_

#include <iostream>
#include <string_view>

namespace skein::examples {

// Prints the words behind the program's name. Gives the exit status: 0 if the user has asked for them by --help, 2 for
// a wrong call.
inline int ShowUsage(int argc, char** argv, std::string_view words) {
  const bool asked = argc > 1 && std::string_view(argv[1]) == "--help";
  (asked ? std::cout : std::cerr) << "usage: " << argv[0] << " " << words << std::endl;
  return asked ? 0 : 2;
}

}  // namespace skein::examples

#endif  // SKEIN_EXAMPLES_USAGE_H_
