#ifndef SKEIN_BENCH_MACRO_FILES_H_
#define SKEIN_BENCH_MACRO_FILES_H_

#include <string>

namespace skein::bench {

std::string ReadFile(const std::string& path);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MACRO_FILES_H_
