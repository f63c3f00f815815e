#include "tools/skein/program/executable.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace skein::program {
namespace {

constexpr int kMostScripts = 5;        // one that runs another: the kernel's limit
constexpr size_t kLongestLine = 4096;  // what is read of a script

bool IsFile(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// The words of a script's first line behind #!; none if it has none.
std::vector<std::string> FirstLine(const std::string& path) {
  std::string begin(kLongestLine, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<size_t>(file.gcount()));
  absl::string_view line = absl::string_view(begin).substr(0, begin.find('\n'));
  if (!absl::ConsumePrefix(&line, "#!")) return {};
  return absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
}

// env's own options and variables come first.
std::string WordAfterEnv(const std::vector<std::string>& words) {
  for (size_t i = 1; i < words.size(); ++i) {
    if (!absl::StartsWith(words[i], "-") && !absl::StrContains(words[i], '=')) return words[i];
  }
  return words[0];
}

bool IsElf(const std::string& path) {
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof(magic));
  return absl::string_view(magic, sizeof(magic)) == "\177ELF";
}

}  // namespace

absl::StatusOr<std::string> FindExecutable(const std::string& word) {
  std::vector<std::string> places;
  if (absl::StrContains(word, '/')) {
    places.push_back(word);
  } else if (!word.empty()) {
    const char* const path = std::getenv("PATH");
    for (absl::string_view folder : absl::StrSplit(path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path, ':')) {
      places.push_back(absl::StrCat(folder.empty() ? "." : folder, "/", word));
    }
  }
  bool found = false;
  for (const std::string& place : places) {
    if (!IsFile(place)) continue;
    found = true;
    if (access(place.c_str(), X_OK) == 0) return place;
  }
  if (found) return absl::PermissionDeniedError(absl::StrCat("'", word, "' cannot be executed"));
  return absl::NotFoundError(absl::StrCat("there is no program '", word, "'"));
}

absl::StatusOr<std::string> InterpreterOf(const std::string& path) {
  std::string at = path;
  for (int scripts = 0; scripts <= kMostScripts; ++scripts) {
    if (access(at.c_str(), R_OK) != 0) return absl::PermissionDeniedError(absl::StrCat("'", at, "' cannot be read"));
    if (IsElf(at)) return at;
    const std::vector<std::string> line = FirstLine(at);
    std::string next = line.empty() ? "/bin/sh" : line[0];  // a shell runs what nobody else knows
    if (absl::EndsWith(next, "/env")) next = WordAfterEnv(line);
    const absl::StatusOr<std::string> found = FindExecutable(next);
    if (!found.ok()) return found.status();
    at = *found;
  }
  return absl::NotFoundError(absl::StrCat("'", path, "' is a script of a script of a script"));
}

}  // namespace skein::program
