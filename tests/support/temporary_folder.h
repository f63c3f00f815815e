// A folder of a test's own, on the disk that the build is on, or in memory; gone with its contents at the end.
#ifndef SKEIN_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
#define SKEIN_TESTS_SUPPORT_TEMPORARY_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"

namespace skein {

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& parent = std::filesystem::current_path().string())
      : path_(absl::StrCat(parent, "/skein_test.XXXXXX")) {
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }  // empty: it could not be made
  std::string File(const std::string& name) const { return absl::StrCat(path_, "/", name); }

 private:
  std::string path_;
};

}  // namespace skein

#endif  // SKEIN_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
