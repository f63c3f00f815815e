// What libFuzzer, whose main() it is, does not bring: fuzz_NAME --write-seeds=FOLDER, for a corpus to start from.
#include <cstdlib>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" __attribute__((visibility("default"))) int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) {
    absl::string_view folder = (*argv)[i];
    if (!absl::ConsumePrefix(&folder, "--write-seeds=")) continue;
    const std::vector<std::string> seeds = skein::fuzz::Seeds();
    for (size_t n = 0; n < seeds.size(); ++n) {
      std::ofstream(absl::StrCat(folder, "/seed", n), std::ios::binary) << seeds[n];
    }
    std::exit(0);
  }
  return 0;
}
