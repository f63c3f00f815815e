// What a fuzz target is: libFuzzer's entry, and the inputs to start from. One target per file and binary.
#ifndef SKEIN_TESTS_FUZZ_FUZZ_TARGET_H_
#define SKEIN_TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/support/require.h"

// Takes any bytes. Ends the process if a promise about them is broken.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace skein::fuzz {

using skein::Require;

// What the encoders make, and what is too long by one.
std::vector<std::string> Seeds();

inline absl::string_view Text(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

}  // namespace skein::fuzz

#endif  // SKEIN_TESTS_FUZZ_FUZZ_TARGET_H_
