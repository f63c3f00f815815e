#include "grpc_transport/common/path_list.h"

#include <grpc/support/log.h>

#include <vector>

namespace skein {
namespace grpc_transport {
namespace {

constexpr char kFramework[] = "grpc";

}  // namespace

ListedPath ListPath(const Path& path) {
  const bool client = path.role == Path::Role::kClient;
  gpr_log(GPR_INFO, "skein: %s %s uses %s%s%s", client ? "client" : "server", path.peer.c_str(), path.path.c_str(),
          path.why.empty() ? "" : ": ", path.why.c_str());
  return inspect::LivePaths::Get().Add(
      {kFramework, client, path.local, path.peer, path.path, path.why, path.secure, path.below_http2});
}

}  // namespace grpc_transport

std::vector<Path> Paths() {
  std::vector<Path> paths;
  for (const inspect::LivePath& live : inspect::LivePaths::Get().List()) {
    if (live.framework != grpc_transport::kFramework) continue;
    paths.push_back({live.client ? Path::Role::kClient : Path::Role::kServer, live.local, live.peer, live.path,
                     live.why, live.secure, live.below_http2});
  }
  return paths;
}

}  // namespace skein
