#include "tests/system/load/heap.h"

#include <malloc.h>

#include <iostream>

#include "absl/strings/str_format.h"

namespace skein::load {

std::string HeapReport() {
  const struct mallinfo2 heap = mallinfo2();
  return absl::StrFormat(R"({"live": %d, "free": %d})", (heap.uordblks + heap.hblkhd) / 1024, heap.fordblks / 1024);
}

void ReportHeapUntilEnd() {
  for (std::string line; std::getline(std::cin, line);) std::cout << HeapReport() << std::endl;
}

}  // namespace skein::load
