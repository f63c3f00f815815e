// What the negotiation makes of a place for calls, at the answering end.
#ifndef SKEIN_CORE_RPC_SERVER_SERVICE_H_
#define SKEIN_CORE_RPC_SERVER_SERVICE_H_

#include <memory>
#include <utility>

#include "core/connect/negotiation.h"
#include "core/rpc/options.h"
#include "core/rpc/server_port.h"

namespace skein::rpc {

class ServerService final : public connect::Service {
 public:
  explicit ServerService(const Options& options) : options_(options) {}
  wire::Service name() const override { return wire::Service::kRpc; }
  uint64_t window() const override { return options_.max_calls; }
  // Regions are attached by many, and locked once.
  bool shares_memory() const override { return true; }
  std::shared_ptr<link::Port> MakePort(connect::Place place) override {
    return std::make_shared<ServerPort>(std::move(place), handlers_, options_);
  }
  // Filled before the first port is made.
  Handlers& handlers() { return *handlers_; }

 private:
  const Options options_;
  const std::shared_ptr<Handlers> handlers_ = std::make_shared<Handlers>();
};

}  // namespace skein::rpc

#endif  // SKEIN_CORE_RPC_SERVER_SERVICE_H_
