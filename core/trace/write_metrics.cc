// skein_write_metrics FILE: writes the metrics' reference page.
#include <fstream>
#include <iostream>

#include "core/trace/metrics.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: skein_write_metrics FILE\n";
    return 2;
  }
  std::ofstream file(argv[1]);
  file << skein::trace::MetricsMarkdown();
  return file.flush() ? 0 : 1;
}
