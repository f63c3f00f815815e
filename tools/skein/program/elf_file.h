// A program or library as the dynamic linker sees it. Whatever the file says is checked before it is followed.
#ifndef SKEIN_TOOLS_SKEIN_PROGRAM_ELF_FILE_H_
#define SKEIN_TOOLS_SKEIN_PROGRAM_ELF_FILE_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/skein/program/mapped_file.h"

namespace skein::program {

class ElfFile {
 public:
  // INVALID_ARGUMENT: it is no ELF file. The kernel's reason if it cannot be read.
  static absl::StatusOr<ElfFile> Open(const std::string& path);

  // For the same kind of processor as this process. If not, nothing more is known of the file.
  bool is_native() const { return native_; }
  // The dynamic linker that it asks for; empty if it asks for none, as a static program.
  const std::string& interpreter() const { return interpreter_; }

  // Whether it has a function of this name inside, exported or not, as far as its symbols have not been taken out.
  bool Defines(absl::string_view symbol) const;
  // Whether it has this text anywhere.
  bool Contains(absl::string_view text) const;

 private:
  explicit ElfFile(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
  bool native_ = false;
  std::string interpreter_;
};

// The dynamic linker of this process; empty if there is none.
std::string OwnInterpreter();

}  // namespace skein::program

#endif  // SKEIN_TOOLS_SKEIN_PROGRAM_ELF_FILE_H_
