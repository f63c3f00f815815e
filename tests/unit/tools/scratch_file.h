// A file for one test.
#ifndef SKEIN_TESTS_UNIT_TOOLS_SCRATCH_FILE_H_
#define SKEIN_TESTS_UNIT_TOOLS_SCRATCH_FILE_H_

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"

namespace skein {

// Executable by everybody; gone with this object.
class ScratchFile {
 public:
  explicit ScratchFile(absl::string_view content) : path_("/tmp/skein-test-XXXXXX") {
    const int file = mkstemp(path_.data());
    while (!content.empty()) {
      const ssize_t written = write(file, content.data(), content.size());
      if (written <= 0) break;
      content.remove_prefix(static_cast<size_t>(written));
    }
    fchmod(file, 0755);
    close(file);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() { unlink(path_.c_str()); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace skein

#endif  // SKEIN_TESTS_UNIT_TOOLS_SCRATCH_FILE_H_
