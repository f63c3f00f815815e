#include "grpc_transport/common/path_list.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "grpc_transport/common/log.h"

namespace skein {
namespace grpc_transport {
namespace {

constexpr char kFramework[] = "grpc";

}  // namespace

ListedPath ListPath(const Path& path) {
  const bool client = path.role == Path::Role::kClient;
  Log(Severity::kInfo, absl::StrCat("skein: ", client ? "client" : "server", " ", path.peer, " uses ", path.path,
                                    path.why.empty() ? "" : ": ", path.why));
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
