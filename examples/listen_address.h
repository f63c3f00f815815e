// Where an example's server listens.
#ifndef SKEIN_EXAMPLES_LISTEN_ADDRESS_H_
#define SKEIN_EXAMPLES_LISTEN_ADDRESS_H_

#include <cstdlib>
#include <iostream>
#include <string>

namespace skein::examples {

// The one word of the command line; without any, a free port of this host. Exits with usage when there is more, or an
// option.
inline std::string ParseListenAddress(int argc, char** argv) {
  if (argc <= 1) return "127.0.0.1:0";
  const std::string word = argv[1];
  if (argc == 2 && word[0] != '-') return word;
  const bool asked = word == "--help";
  (asked ? std::cout : std::cerr) << "usage: " << argv[0] << " [ADDRESS]" << std::endl;
  std::exit(asked ? 0 : 2);
}

}  // namespace skein::examples

#endif  // SKEIN_EXAMPLES_LISTEN_ADDRESS_H_
