#include "grpc_transport/runtime.h"

#include <unistd.h>

#include "core/fabric/shm/shm_device.h"
#include "grpc_transport/forked.h"

namespace skein::grpc_transport {
namespace {

stream::StreamOptions StreamOptionsOf(const Options& options) {
  return {static_cast<size_t>(options.ring_bytes), static_cast<size_t>(options.window_bytes)};
}

}  // namespace

Runtime& Runtime::Get() {
  static auto* const runtime = new Runtime;
  return *runtime;
}

Runtime::Runtime() : environment_(OptionsFromEnvironment({}, "SKEIN_GRPC", environ)) { NoticeForks(); }

absl::StatusOr<std::shared_ptr<fabric::Device>> Runtime::DeviceLocked() {
  if (device_ == nullptr) {
    absl::StatusOr<std::shared_ptr<fabric::Device>> device = fabric::OpenShmDevice({});
    if (!device.ok()) return device;  // the next connection tries again
    device_ = *std::move(device);
  }
  return device_;
}

absl::StatusOr<stream::Connector*> Runtime::ConnectorFor(const Options& options) {
  absl::MutexLock lock(&mu_);
  const absl::StatusOr<std::shared_ptr<fabric::Device>> device = DeviceLocked();
  if (!device.ok()) return device.status();
  std::unique_ptr<stream::Connector>& connector = connectors_[{options.ring_bytes, options.window_bytes}];
  if (connector == nullptr) connector = stream::CreateConnector(*device, StreamOptionsOf(options), &waiter_);
  return connector.get();
}

absl::StatusOr<stream::Listener*> Runtime::ListenerFor(const Options& options) {
  absl::MutexLock lock(&mu_);
  const absl::StatusOr<std::shared_ptr<fabric::Device>> device = DeviceLocked();
  if (!device.ok()) return device.status();
  std::unique_ptr<stream::Listener>& listener = listeners_[{options.ring_bytes, options.window_bytes}];
  if (listener == nullptr) listener = stream::CreateListener(*device, StreamOptionsOf(options), &waiter_);
  return listener.get();
}

}  // namespace skein::grpc_transport
