#include "grpc_transport/event_engine/endpoint.h"

#include <utility>

#include "grpc_transport/event_engine/stream_connection.h"

namespace skein::grpc_transport {
namespace {

class SkeinEndpoint final : public EventEngine::Endpoint {
 public:
  explicit SkeinEndpoint(EndpointParts parts)
      : peer_(parts.tcp->GetPeerAddress()),
        local_(parts.tcp->GetLocalAddress()),
        connection_(std::make_shared<StreamConnection>(std::move(parts))) {
    connection_->Start();
  }
  ~SkeinEndpoint() override { connection_->Shutdown(); }

  bool Read(absl::AnyInvocable<void(absl::Status)> on_read, SliceBuffer* buffer, ReadArgs /*args*/) override {
    return connection_->Read(std::move(on_read), buffer);
  }
  bool Write(absl::AnyInvocable<void(absl::Status)> on_writable, SliceBuffer* data, WriteArgs /*args*/) override {
    return connection_->Write(std::move(on_writable), data);
  }
  const EventEngine::ResolvedAddress& GetPeerAddress() const override { return peer_; }
  const EventEngine::ResolvedAddress& GetLocalAddress() const override { return local_; }
  // Of a socket's writes, which there are none.
  std::shared_ptr<TelemetryInfo> GetTelemetryInfo() const override { return nullptr; }

 private:
  const EventEngine::ResolvedAddress peer_;
  const EventEngine::ResolvedAddress local_;
  const std::shared_ptr<StreamConnection> connection_;
};

}  // namespace

std::unique_ptr<EventEngine::Endpoint> NewSkeinEndpoint(EndpointParts parts) {
  return std::make_unique<SkeinEndpoint>(std::move(parts));
}

}  // namespace skein::grpc_transport
