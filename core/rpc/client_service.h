// What the negotiation makes of a place for calls, at the calling end.
#ifndef SKEIN_CORE_RPC_CLIENT_SERVICE_H_
#define SKEIN_CORE_RPC_CLIENT_SERVICE_H_

#include <algorithm>
#include <memory>
#include <utility>

#include "core/connect/negotiation.h"
#include "core/rpc/client_port.h"
#include "core/rpc/options.h"
#include "core/wait/wait_set.h"

namespace skein::rpc {

class ClientService final : public connect::Service {
 public:
  explicit ClientService(const Options& options) : options_(options) {}
  wire::Service name() const override { return wire::Service::kRpc; }
  uint64_t window() const override { return 0; }
  std::shared_ptr<link::Port> MakePort(connect::Place place) override {
    std::shared_ptr<wait::WaitSet> space = spaces_.Of(place.link);
    const auto max_calls = static_cast<uint32_t>(std::min<uint64_t>(place.send_window, kMaxCalls));
    return std::make_shared<ClientPort>(std::move(place), std::move(space), max_calls, options_.coalesce);
  }

 private:
  const Options options_;
  wait::WaitSets spaces_{SpinPolicyOf(options_)};
};

}  // namespace skein::rpc

#endif  // SKEIN_CORE_RPC_CLIENT_SERVICE_H_
