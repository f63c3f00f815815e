#include "core/fabric/verbs/ibverbs.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "core/base/library_function.h"

namespace skein::fabric::verbs {
namespace {

constexpr absl::string_view kAdvice = "; install rdma-core, libibverbs1 and ibverbs-providers";

absl::StatusOr<const Ibverbs*> Load() {
  void* const library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::UnavailableError(absl::StrCat("RDMA is off: ", dlerror(), kAdvice));
  auto* const functions = new Ibverbs;
  absl::string_view missing;
#define SKEIN_FIND(name) \
  if (!FindFunction(library, "ibv_" #name, functions->name)) missing = #name;
  SKEIN_IBVERBS_FUNCTIONS(SKEIN_FIND)
#undef SKEIN_FIND
  if (!FindFunction(library, "_ibv_query_gid_table", functions->query_gid_table)) missing = "query_gid_table";
  FindFunction(library, "ibv_qp_to_qp_ex", functions->qp_to_qp_ex);
  if (missing.empty()) return functions;
  delete functions;
  return absl::UnavailableError(absl::StrCat("RDMA is off: libibverbs.so.1 has no ibv_", missing, kAdvice));
}

}  // namespace

absl::StatusOr<const Ibverbs*> LoadIbverbs() {
  static const auto* const loaded = new absl::StatusOr<const Ibverbs*>(Load());
  return *loaded;
}

}  // namespace skein::fabric::verbs
