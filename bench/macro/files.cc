#include "bench/macro/files.h"

#include <fstream>
#include <sstream>

namespace skein::bench {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace skein::bench
