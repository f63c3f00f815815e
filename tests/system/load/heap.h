// What malloc has given out: memory that grows while this does not is memory in pieces, not memory lost.
#ifndef SKEIN_TESTS_LOAD_HEAP_H_
#define SKEIN_TESTS_LOAD_HEAP_H_

#include <string>

namespace skein::load {

// {"live": N, "free": N}, KiB: what the process has of malloc, and what malloc has of the kernel besides.
std::string HeapReport();

// A server's conversation: the report for each line of the standard input, until it ends.
void ReportHeapUntilEnd();

}  // namespace skein::load

#endif  // SKEIN_TESTS_LOAD_HEAP_H_
