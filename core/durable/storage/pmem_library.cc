#include "core/durable/storage/pmem_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace skein::durable {
namespace {

constexpr absl::string_view kAdvice = "; install libpmem1, or keep the log in an ordinary file";

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

absl::StatusOr<const Libpmem*> Load() {
  void* const library = dlopen("libpmem.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::UnavailableError(absl::StrCat("no persistent memory: ", dlerror(), kAdvice));
  auto* const functions = new Libpmem;
  absl::string_view missing;
#define SKEIN_FIND(name) \
  if (!Find(library, "pmem_" #name, functions->name)) missing = #name;
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
