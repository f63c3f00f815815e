#include "tools/skein/run/preload_library.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace skein::run {
namespace {

constexpr char kStub[] = "libskein_grpc_preload.so";
constexpr char kRest[] = "libskein_grpc.so.1";  // which the stub looks for beside itself

// From the folder of the command: as CMake installs, as distributions do, and in a build.
constexpr char kAsInstalled[] = "../" SKEIN_LIBRARY_FOLDER;
constexpr char kOfThisMachine[] = "../lib/" SKEIN_MULTIARCH;
constexpr absl::string_view kFolders[] = {kAsInstalled, "../lib", kOfThisMachine, "../lib64", "../../grpc_transport"};

bool HasBoth(const std::filesystem::path& folder) {
  return access((folder / kStub).c_str(), R_OK) == 0 && access((folder / kRest).c_str(), R_OK) == 0;
}

}  // namespace

std::string OwnFolder() {
  std::error_code error;
  std::filesystem::path file = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {  // no /proc: as this program was started
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it comes as a number
    const auto* const started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    if (started == nullptr) return "";
    file = std::filesystem::canonical(started, error);
  }
  return error ? "" : file.parent_path().string();
}

absl::StatusOr<std::string> PreloadLibrary(const std::string& folder) {
  for (absl::string_view relative : kFolders) {
    std::error_code error;
    const std::filesystem::path place =
        std::filesystem::weakly_canonical(std::filesystem::path(folder) / std::string(relative), error);
    if (error || folder.empty() || !HasBoth(place)) continue;
    std::string path = place / kStub;
    if (path.find_first_of(": \t\n$") == std::string::npos) return path;
    return absl::FailedPreconditionError(
        absl::StrCat("LD_PRELOAD cannot have the path '", path, "': no blank, colon or dollar may be in it"));
  }
  return absl::NotFoundError(absl::StrCat("no ", kStub, " and ", kRest, " in ../lib or the like of '", folder, "'"));
}

std::string LibraryFolder() {
  const absl::StatusOr<std::string> library = PreloadLibrary(OwnFolder());
  return library.ok() ? std::filesystem::path(*library).parent_path().string() : "";
}

std::string WithLibrary(const std::string& library, absl::string_view before) {
  std::string value = library;
  for (absl::string_view other : absl::StrSplit(before, absl::ByAnyChar(": "), absl::SkipEmpty())) {
    if (other != library) absl::StrAppend(&value, ":", other);
  }
  return value;
}

}  // namespace skein::run
