// Where an example's server listens.
#ifndef SKEIN_EXAMPLES_LISTEN_ADDRESS_H_
#define SKEIN_EXAMPLES_LISTEN_ADDRESS_H_

#include <cstdlib>
#include <string>

#include "examples/usage.h"

namespace skein::examples {

// The one word of the command line; without any, a free port of this host. Exits with usage when there is more, or an
// option.
inline std::string ParseListenAddress(int argc, char** argv) {
  if (argc <= 1) return "127.0.0.1:0";
  const std::string word = argv[1];
  if (argc == 2 && word[0] != '-') return word;
  std::exit(ShowUsage(argc, argv, "[ADDRESS]"));
}

}  // namespace skein::examples

#endif  // SKEIN_EXAMPLES_LISTEN_ADDRESS_H_
