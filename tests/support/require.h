// For programs that are no GoogleTest: what has to hold, or the program ends there and then.
#ifndef SKEIN_TESTS_SUPPORT_REQUIRE_H_
#define SKEIN_TESTS_SUPPORT_REQUIRE_H_

#include <cstdio>
#include <cstdlib>

namespace skein {

inline void Require(bool promise, const char* what) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

}  // namespace skein

#endif  // SKEIN_TESTS_SUPPORT_REQUIRE_H_
