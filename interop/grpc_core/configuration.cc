// Cases with filters of their own build another configuration of gRPC's and put it in place of the first one. Theirs
// has all of libgrpc and nothing that a plugin has registered, so Skein would not be there. Here it gets the plugins'
// part, too, in the order of CoreConfiguration::BuildNewAndMaybeSet(). A process without a plugin gets what it always
// got.

#include <atomic>
#include <vector>

#include "grpc_transport/iomgr/grpc_internal.h"

namespace grpc_core {
namespace {

// CoreConfiguration::builders_, which is private but exported. Last come, first in the list.
extern "C" std::atomic<CoreConfiguration::RegisteredBuilder*> registered_builders __asm__(
    "_ZN9grpc_core17CoreConfiguration9builders_E");

}  // namespace

// The linker has the cases call the first for BuildCoreConfiguration(), and the second is libgrpc's: --wrap.
void WithPlugins(CoreConfiguration::Builder* builder) __asm__(
    "__wrap__ZN9grpc_core22BuildCoreConfigurationEPNS_17CoreConfiguration7BuilderE");
void WithoutPlugins(CoreConfiguration::Builder* builder) __asm__(
    "__real__ZN9grpc_core22BuildCoreConfigurationEPNS_17CoreConfiguration7BuilderE");

void WithPlugins(CoreConfiguration::Builder* builder) {
  std::vector<CoreConfiguration::RegisteredBuilder*> plugins;
  for (auto* each = registered_builders.load(std::memory_order_acquire); each != nullptr; each = each->next) {
    plugins.push_back(each);
  }
  for (auto each = plugins.rbegin(); each != plugins.rend(); ++each) (*each)->builder(builder);
  WithoutPlugins(builder);
}

}  // namespace grpc_core
