// What the examples' clients have in common: arguments, and what they measure.
#ifndef SKEIN_EXAMPLES_CLIENT_H_
#define SKEIN_EXAMPLES_CLIENT_H_

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"

namespace skein::examples {

constexpr size_t kEchoBytes = 1 << 20;

// How long a lost server is waited for, and to be lost.
constexpr absl::Duration kPatience = absl::Seconds(20);

// Reads the flags; returns the one positional argument. Exits with usage when there is none.
std::string ParseTarget(int argc, char** argv);

// --watch: calls until the server was lost and came back, one line per change, instead of measuring.
bool Watching();

// Prints p50 and p99 of small calls and the bandwidth of echoes of kEchoBytes, one line on stdout. `call` and `echo`
// make one call each and return whether it succeeded. False: one did not, and nothing was printed.
bool PrintFigures(absl::FunctionRef<bool()> call, absl::FunctionRef<bool()> echo);

// Prints that calls succeed again.
void PrintBack(absl::Time lost);

}  // namespace skein::examples

#endif  // SKEIN_EXAMPLES_CLIENT_H_
