// What the programs of a load are called with, whatever the framework.
#ifndef SKEIN_TESTS_LOAD_OPTIONS_H_
#define SKEIN_TESTS_LOAD_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/random/random.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

ABSL_DECLARE_FLAG(std::string, serve);
ABSL_DECLARE_FLAG(std::vector<std::string>, targets);
ABSL_DECLARE_FLAG(std::string, mode);
ABSL_DECLARE_FLAG(double, hurried);
ABSL_DECLARE_FLAG(int, threads);
ABSL_DECLARE_FLAG(int, calls_each);
ABSL_DECLARE_FLAG(int, connections);
ABSL_DECLARE_FLAG(int, kept);
ABSL_DECLARE_FLAG(absl::Duration, deadline);
ABSL_DECLARE_FLAG(absl::Duration, connecting);

namespace skein::load {

// HOST:PORT
struct Address {
  std::string host;
  int port = 0;
};
Address AddressOf(absl::string_view text);

// Since some moment, by the clock that nobody sets: tests set the other one.
absl::Duration Elapsed();

// A message's size: as many small ones as large ones, by their number of digits.
uint32_t AnySize(absl::BitGen& random);

}  // namespace skein::load

#endif  // SKEIN_TESTS_LOAD_OPTIONS_H_
