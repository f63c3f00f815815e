// skein_write_options FILE: writes the options' reference page.
#include <fstream>
#include <iostream>

#include "core/base/options.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: skein_write_options FILE\n";
    return 2;
  }
  std::ofstream file(argv[1]);
  file << skein::OptionsMarkdown();
  return file.flush() ? 0 : 1;
}
