// skein_write_pages FOLDER: writes the pages of docs/ that tables in the code hold: options.md, reasons.md.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "core/base/fallback.h"
#include "core/base/options.h"

namespace {

bool Write(const std::filesystem::path& path, const std::string& page) {
  std::ofstream file(path);
  file << page;
  return static_cast<bool>(file.flush());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: skein_write_pages FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const bool written =
      Write(folder / "options.md", skein::OptionsMarkdown()) && Write(folder / "reasons.md", skein::ReasonsMarkdown());
  if (!written) std::cerr << "skein_write_pages: " << folder << " cannot be written to\n";
  return written ? 0 : 1;
}
