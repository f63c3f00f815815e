#include "tools/skein/program/outlook.h"

#include <unistd.h>

#include <cstdint>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tools/skein/program/elf_file.h"
#include "tools/skein/program/executable.h"
#include "tools/skein/program/needed_libraries.h"

namespace skein::program {
namespace {

using Kind = Outlook::Kind;

constexpr absl::string_view kServedName = "libgrpc.so." SKEIN_KNOWN_CORE_MAJOR;
constexpr absl::string_view kServedCore = SKEIN_KNOWN_CORE;  // what grpc_version_string() says
constexpr absl::string_view kServes =
    ", and Skein serves libgrpc.so." SKEIN_KNOWN_CORE_MAJOR " of gRPC " SKEIN_KNOWN_GRPC " only";

// gRPC's core traces its first function by this text, in each version; gRPC for Go is of these packages.
constexpr absl::string_view kTellTales[] = {"grpc_init(void)", "google.golang.org/grpc"};

bool HasTellTale(const ElfFile& file) {
  for (absl::string_view text : kTellTales) {
    if (file.Contains(text)) return true;
  }
  return false;
}

Outlook Of(Kind kind, const std::string& file, absl::string_view why) {
  return {kind, file, absl::StrCat(file, " ", why), ""};
}

// Whether a library of Skein's for this libgrpc.so.N of another gRPC is there, which the preload library opens.
bool IsServedByAnother(absl::string_view soname, const std::string& libraries) {
  uint32_t number = 0;
  if (libraries.empty() || !absl::ConsumePrefix(&soname, "libgrpc.so.") || !absl::SimpleAtoi(soname, &number)) {
    return false;
  }
  return access(absl::StrCat(libraries, "/libskein_grpc-", number, ".so.1").c_str(), R_OK) == 0;
}

// The first library with a gRPC to call is the one that the dynamic linker binds calls to.
Outlook OutlookOfCalled(const std::string& file, const NeededLibrary& library, const ElfFile& elf,
                        const std::string& libraries) {
  if (library.name == kServedName) {
    if (elf.Contains(kServedCore)) return Of(Kind::kServed, file, absl::StrCat("has the gRPC of ", library.path));
    return Of(Kind::kOtherGrpc, file, absl::StrCat("has ", library.path, " of another version", kServes));
  }
  if (IsServedByAnother(library.name, libraries)) {
    return Of(Kind::kServed, file, absl::StrCat("has the gRPC of ", library.path));
  }
  if (absl::StartsWith(library.name, "libgrpc")) {
    return Of(Kind::kOtherGrpc, file, absl::StrCat("has the gRPC of ", library.path, kServes));
  }
  return Of(Kind::kOwnGrpc, file, absl::StrCat("has a gRPC inside ", library.path, kServes));
}

Outlook OutlookByLibraries(const std::string& file, const std::vector<NeededLibrary>& needed,
                           const std::string& libraries) {
  std::string hidden;
  for (const NeededLibrary& library : needed) {
    const absl::StatusOr<ElfFile> elf = ElfFile::Open(library.path);
    if (!elf.ok()) continue;
    if (elf->Defines("grpc_init")) return OutlookOfCalled(file, library, *elf, libraries);
    if (hidden.empty() && HasTellTale(*elf)) hidden = library.path;
  }
  if (!hidden.empty()) return Of(Kind::kOwnGrpc, file, absl::StrCat("has a gRPC inside ", hidden, kServes));
  return Of(Kind::kNoGrpc, file,
            absl::StrCat("has no gRPC of its own; if it opens ", kServedName, " later, Skein serves that, but ",
                         "whether it opens another gRPC cannot be seen"));
}

absl::StatusOr<Outlook> OutlookOfElf(const std::string& file, const Executor& executor, const std::string& libraries) {
  const absl::StatusOr<ElfFile> elf = ElfFile::Open(file);
  if (!elf.ok()) return elf.status();
  if (!elf->is_native()) {
    return Of(Kind::kOtherMachine, file,
              "is for another kind of processor, into which nothing of this one's is preloaded");
  }
  if (const Privileges privileges = PrivilegesOf(file, executor); privileges.matter) {
    return Of(Kind::kPrivileged, file,
              absl::StrCat("has ", privileges.what, ": the dynamic linker preloads nothing into it"));
  }
  if (elf->interpreter().empty()) {
    return Of(Kind::kStatic, file, "is linked statically: nothing can be preloaded into it");
  }
  if (elf->interpreter() != OwnInterpreter()) {
    return Of(Kind::kOtherLinker, file, absl::StrCat("is for another C library, by its ", elf->interpreter()));
  }
  if (elf->Defines("grpc_init") || HasTellTale(*elf)) {
    return Of(Kind::kOwnGrpc, file, absl::StrCat("has a gRPC of its own inside", kServes));
  }
  const absl::StatusOr<std::vector<NeededLibrary>> needed = NeededLibraries(file);
  if (!needed.ok()) return needed.status();
  return OutlookByLibraries(file, *needed, libraries);
}

}  // namespace

std::string AdviceFor(Outlook::Kind kind) {
  switch (kind) {
    case Kind::kServed:
      return "skein run, or the preload library and SKEIN_GRPC, put it onto Skein";
    case Kind::kNoGrpc:
      return "";
    case Kind::kOtherGrpc:
    case Kind::kOwnGrpc:
      return "link it to the distribution's libgrpc";
    case Kind::kStatic:
      return "link it dynamically, to the distribution's libgrpc";
    case Kind::kPrivileged:
      return "call skein::grpc_transport::Init() in its code, or give it what it needs otherwise, as "
             "AmbientCapabilities= of systemd does";
    case Kind::kOtherMachine:
    case Kind::kOtherLinker:
      return "build it for this machine's system";
  }
  return "";
}

absl::StatusOr<Outlook> OutlookOf(const std::string& path, const Executor& executor, const std::string& libraries) {
  const absl::StatusOr<std::string> file = InterpreterOf(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<Outlook> outlook = OutlookOfElf(*file, executor, libraries);
  if (!outlook.ok()) return outlook;
  const Privileges privileges = PrivilegesOf(*file, executor);
  if (!privileges.what.empty() && !privileges.matter) {
    outlook->note =
        absl::StrCat("it has ", privileges.what, ": under another user the dynamic linker preloads nothing into it");
  }
  return outlook;
}

}  // namespace skein::program
