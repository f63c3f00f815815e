#include "grpc_transport/path_registry.h"

#include <grpc/support/log.h>

#include <utility>

namespace skein::grpc_transport {

std::unique_ptr<PathRegistry::Entry> PathRegistry::Add(Path path) {
  gpr_log(GPR_INFO, "skein: %s %s uses %s%s%s", path.role == Path::Role::kClient ? "client" : "server",
          path.peer.c_str(), path.path.c_str(), path.why.empty() ? "" : ": ", path.why.c_str());
  MutexLock lock(&mu_);
  paths_.emplace(++last_number_, std::move(path));
  return std::make_unique<Entry>(this, last_number_);
}

std::vector<Path> PathRegistry::List() const {
  MutexLock lock(&mu_);
  std::vector<Path> list;
  list.reserve(paths_.size());
  for (const auto& [number, path] : paths_) list.push_back(path);
  return list;
}

void PathRegistry::Remove(uint64_t number) {
  MutexLock lock(&mu_);
  paths_.erase(number);
}

}  // namespace skein::grpc_transport
