// Where the calculator's server listens.
#ifndef SKEIN_EXAMPLES_CALCULATOR_ADDRESS_H_
#define SKEIN_EXAMPLES_CALCULATOR_ADDRESS_H_

#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/strings/numbers.h"

namespace skein::examples {

struct Address {
  std::string host;
  int port = 0;
};

// Of "127.0.0.1:9090". Exits when it is none.
inline Address ParseAddress(const std::string& text) {
  Address address;
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || !absl::SimpleAtoi(text.substr(colon + 1), &address.port)) {
    std::cerr << "not HOST:PORT: " << text << std::endl;
    std::exit(2);
  }
  address.host = text.substr(0, colon);
  return address;
}

}  // namespace skein::examples

#endif  // SKEIN_EXAMPLES_CALCULATOR_ADDRESS_H_
