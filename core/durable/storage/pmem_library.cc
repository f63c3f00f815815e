#include "core/durable/storage/pmem_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "core/base/library_function.h"

namespace skein::durable {
namespace {

constexpr absl::string_view kAdvice = "; install libpmem1, or keep the log in an ordinary file";

absl::StatusOr<const Libpmem*> Load() {
  void* const library = dlopen("libpmem.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::UnavailableError(absl::StrCat("no persistent memory: ", dlerror(), kAdvice));
  auto* const functions = new Libpmem;
  absl::string_view missing;
#define SKEIN_FIND(name) \
  if (!FindFunction(library, "pmem_" #name, functions->name)) missing = #name;
  SKEIN_LIBPMEM_FUNCTIONS(SKEIN_FIND)
#undef SKEIN_FIND
  if (missing.empty()) return functions;
  delete functions;
  return absl::UnavailableError(absl::StrCat("no persistent memory: libpmem.so.1 has no pmem_", missing, kAdvice));
}

}  // namespace

absl::StatusOr<const Libpmem*> LoadLibpmem() {
  static const auto* const loaded = new absl::StatusOr<const Libpmem*>(Load());
  return *loaded;
}

}  // namespace skein::durable
