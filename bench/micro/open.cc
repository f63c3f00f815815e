#include "bench/micro/open.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/micro/byte_transport.h"
#include "bench/micro/stream_transport.h"
#include "bench/micro/write_transport.h"
#include "core/base/options.h"
#include "core/connect/host_fabrics.h"
#include "core/connect/route.h"
#include "core/fabric/service/service_device.h"
#include "core/stream/host_streams.h"

namespace skein::bench {
namespace {

std::string KindOf(const std::string& fabric) {
  return fabric == "skeind" ? std::string(fabric::kServiceKind) : fabric;
}

absl::StatusOr<std::shared_ptr<channel::Transport>> TransportFor(const std::string& kind, const Options& options,
                                                                 const Socket& control) {
  std::string why = "not on one host";
  for (connect::Candidate& candidate :
       connect::CreateHostFabrics(options.shm, options.rdma)->For(connect::RouteOf(control.fd()))) {
    if (candidate.kind != kind) continue;
    if (candidate.transport != nullptr) return std::move(candidate.transport);
    why = ToString(candidate.why_not);
  }
  return absl::UnavailableError(absl::StrCat("no ", kind, " to the other end: ", why));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> Open(const Plan& plan, Socket& control, bool client) {
  if (plan.over == "tcp") return SocketTransport(control, plan.bytes);
  const EnvironmentOptions environment = OptionsFromEnvironment({}, "SKEIN_GRPC", environ);
  if (!environment.error.ok()) return environment.error;
  const Options& options = environment.options;
  absl::StatusOr<std::shared_ptr<channel::Transport>> transport = TransportFor(KindOf(plan.fabric), options, control);
  if (!transport.ok()) return transport.status();
  if (plan.over == "write") {
    return OpenWrites((*transport)->device(), control, client, plan.bytes);
  }
  return OpenStream(*std::move(transport), stream::StreamOptionsOf(options), control, client, plan.bytes);
}

}  // namespace skein::bench
