#include "tools/skein/program/needed_libraries.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/unique_fd.h"
#include "tools/skein/program/elf_file.h"

namespace skein::program {
namespace {

// The environment without variables that make the dynamic linker add libraries or output.
std::vector<char*> PlainEnvironment() {
  std::vector<char*> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const absl::string_view variable = *entry;
    if (absl::StartsWith(variable, "LD_") && !absl::StartsWith(variable, "LD_LIBRARY_PATH=")) continue;
    kept.push_back(*entry);
  }
  kept.push_back(nullptr);
  return kept;
}

std::string ReadToEnd(int pipe) {
  std::string text;
  char piece[4096];
  for (;;) {
    const ssize_t got = read(pipe, piece, sizeof(piece));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(piece, static_cast<size_t>(got));
  }
}

// Its standard output; UNAVAILABLE if it does not end with status 0.
absl::StatusOr<std::string> OutputOf(std::vector<std::string> command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "no pipe");
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, words[0], &actions, nullptr, words.data(), PlainEnvironment().data());
  posix_spawn_file_actions_destroy(&actions);
  writing.Reset();
  std::string output = ReadToEnd(reading.get());
  if (error != 0) return absl::UnavailableError(absl::StrCat("cannot start ", command[0]));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) return absl::UnavailableError(absl::StrCat(command[0], " cannot read ", command.back()));
  return output;
}

}  // namespace

std::vector<NeededLibrary> ReadList(absl::string_view list) {
  std::vector<NeededLibrary> libraries;
  for (absl::string_view line : absl::StrSplit(list, '\n')) {
    // "\tlibz.so.1 => /lib/libz.so.1 (0x00007f9c)"; "\t/lib64/ld-linux.so.2 (0x00007f9c)"; "\tlibx.so => not found"
    line = absl::StripAsciiWhitespace(line);
    const size_t address = line.rfind(" (0x");
    if (address != absl::string_view::npos) line = line.substr(0, address);
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(" => ", 1));
    if (parts.first.empty()) continue;
    NeededLibrary library;
    library.name = std::string(parts.first);
    if (absl::StartsWith(parts.second, "/")) library.path = std::string(parts.second);
    if (parts.second.empty() && absl::StartsWith(parts.first, "/")) library.path = library.name;
    libraries.push_back(std::move(library));
  }
  return libraries;
}

absl::StatusOr<std::vector<NeededLibrary>> NeededLibraries(const std::string& program) {
  const absl::StatusOr<std::string> list = OutputOf({OwnInterpreter(), "--list", program});
  if (!list.ok()) return list.status();
  return ReadList(*list);
}

}  // namespace skein::program
